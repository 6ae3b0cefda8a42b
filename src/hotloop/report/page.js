// Tells the point under the mouse. Everything else on the page stands without a script.
(function () {
  "use strict";
  function three(value) { return Number(value.toPrecision(3)).toLocaleString("en"); }
  function scaled(value, units) {
    for (var i = 0; i < units.length; i += 1) {
      if (Math.abs(value) >= units[i][0] || i === units.length - 1) {
        return three(value / units[i][0]) + " " + units[i][1];
      }
    }
  }
  var UNITS = {
    s: [[60, "min"], [1, "s"], [1e-3, "ms"], [1e-6, "µs"]],
    bytes: [[1e9, "GB"], [1e6, "MB"], [1e3, "KB"], [1, "B"]],
  };
  function numbers(text) { return text.split(" ").map(Number); }
  function nearest(xs, x) {
    var low = 0, high = xs.length - 1;
    while (high - low > 1) {
      var middle = (low + high) >> 1;
      if (xs[middle] < x) { low = middle; } else { high = middle; }
    }
    return x - xs[low] < xs[high] - x ? low : high;
  }
  document.querySelectorAll("svg[data-x]").forEach(function (svg) {
    var xs = numbers(svg.dataset.x), ys = numbers(svg.dataset.y), box = numbers(svg.dataset.box);
    var units = svg.dataset.units.split(" ");
    var tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    svg.parentNode.appendChild(tip);
    svg.addEventListener("pointermove", function (event) {
      var wide = svg.getBoundingClientRect();
      var at = (event.clientX - wide.left) * svg.viewBox.baseVal.width / wide.width;
      var index = nearest(xs, box[2] + (at - box[0]) / (box[1] - box[0]) * (box[3] - box[2]));
      var where = units[0] === "step" ? "step " + xs[index].toLocaleString("en") : "at " + scaled(xs[index], UNITS.s);
      tip.textContent = where + ": " + scaled(ys[index], UNITS[units[1]]);
      tip.hidden = false;
      var left = event.clientX - wide.left + 12;
      tip.style.left = Math.min(left, wide.width - tip.offsetWidth) + "px";
    });
    svg.addEventListener("pointerleave", function () { tip.hidden = true; });
  });
})();
