"""Makes what the labelling programs label: a network as a frozen graph and as a Keras file, labels, photographs."""

import argparse
import os
import pathlib

import numpy as np
import tensorflow as tf

SIZES = {"mobilenet": 224, "inception": 299, "resnet50": 224}
CLASSES = 1000


def network(name, photographs):
    """The architecture with weights that are nobody's, its answers spread as a trained one's are."""
    import keras

    keras.utils.set_random_seed(5)
    make = {
        "mobilenet": keras.applications.MobileNet,
        "inception": keras.applications.InceptionV3,
        "resnet50": keras.applications.ResNet50,
    }[name]
    model = make(weights=None, classes=CLASSES)
    size = SIZES[name]
    batch = np.stack([tf.image.resize(tf.io.decode_jpeg(path.read_bytes(), channels=3), (size, size)) for path in photographs])
    for layer in model.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum = 0.0
    model(batch / 255.0, training=True)
    logits = np.log(model.predict(batch / 255.0, verbose=0))
    head = [layer for layer in model.layers if layer.weights][-1]
    kernel, *rest = head.get_weights()
    head.set_weights([kernel * 2.0 / (logits - logits.mean(0)).std(), *rest])
    return model


def freeze(model, size):
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    @tf.function(input_signature=[tf.TensorSpec([None, size, size, 3], tf.float32, name="input")])
    def final_result(images):
        return model(images, training=False)

    return convert_variables_to_constants_v2(final_result.get_concrete_function()).graph.as_graph_def()


def photograph(rng, height, width):
    """As busy at every scale as the world is, seen by a sensor with some noise of its own."""
    picture = np.zeros((height, width, 3), np.float32)
    cells, strength = 3, 90.0
    while strength > 2.0:
        noise = rng.normal(0.0, strength, (cells, cells + 1, 3)).astype(np.float32)
        picture += tf.image.resize(noise, (height, width), "bicubic").numpy()
        cells, strength = cells * 2, strength * 0.62
    picture += rng.normal(128.0, 5.0, (height, width, 1)).astype(np.float32)
    return np.clip(picture, 0, 255).astype(np.uint8)


def write_photographs(folder, count):
    rng = np.random.default_rng(17)
    os.makedirs(folder, exist_ok=True)
    for number in range(count):
        long = int(np.exp(rng.uniform(np.log(400), np.log(2000))))
        short = int(long * rng.uniform(0.56, 0.8))
        height, width = (long, short) if number % 3 == 0 else (short, long)
        encoded = tf.io.encode_jpeg(photograph(rng, height, width), quality=90)
        (folder / f"photograph_{number:04}.jpg").write_bytes(encoded.numpy())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--network", choices=SIZES, default="mobilenet")
    args = parser.parse_args()
    photographs = args.folder / "photographs"
    if len(list(photographs.glob("*.jpg"))) < args.count:
        write_photographs(photographs, args.count)
    if not (args.folder / f"{args.network}.pb").exists():
        model = network(args.network, sorted(photographs.glob("*.jpg"))[:16])
        model.save(args.folder / f"{args.network}.keras")
        (args.folder / "labels.txt").write_text("".join(f"class {number}\n" for number in range(CLASSES)))
        graph = freeze(model, SIZES[args.network])
        (args.folder / f"{args.network}.pb").write_bytes(graph.SerializeToString())


if __name__ == "__main__":
    main()
