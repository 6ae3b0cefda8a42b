"""Public programs, which have to lie in a folder of repositories: nothing of theirs is kept here but what is changed.

Each is run short, on made-up data, as today's TensorFlow asks for it; the expert's version is that, changed by hand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from surroundings import HERE

from hotloop.source.notebooks import SUFFIX, to_python

BESIDE = HERE / "programs" / "beside"  # modules in place of what a program downloads or has installed

Files = dict[str, bytes]
Changes = tuple[tuple[str, str], ...]  # regular expressions and what they become; each has to be found


@dataclass(frozen=True)
class Public:
    folder: str  # owner+name and what follows
    files: tuple[str, ...]  # the first is what runs
    short: Changes
    expert: Changes
    beside: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.folder}/{self.files[0]}".replace("+", "/", 1)

    @property
    def program(self) -> str:
        return _as_module(self.files[0])

    def versions(self, public: Path) -> tuple[Files, Files]:
        """The slow one and the expert's."""
        slow = {_as_module(name): _text(public / self.folder / name) for name in self.files}
        slow = _changed(slow, self.short)
        beside = {name: (BESIDE / name).read_bytes() for name in self.beside}
        return _encoded(slow) | beside, _encoded(_changed(slow, self.expert)) | beside


def _as_module(name: str) -> str:
    return str(Path(name).with_suffix(".py"))


def _text(path: Path) -> str:
    data = path.read_bytes()
    return (to_python(data)[0] if path.suffix == SUFFIX else data).decode().replace("\r\n", "\n")


def _changed(texts: dict[str, str], changes: Changes) -> dict[str, str]:
    for pattern, new in changes:
        found = {name: re.subn(pattern, new, text, flags=re.MULTILINE) for name, text in texts.items()}
        if not any(count for _, count in found.values()):
            raise LookupError(f"nothing looks like {pattern!r} in {', '.join(texts)}")
        texts = {name: text for name, (text, _) in found.items()}
    return texts


def _encoded(texts: dict[str, str]) -> Files:
    return {name: text.encode() for name, text in texts.items()}


# -- the programs ------------------------------------------------------------------------------------------------------

V1 = (r"^import tensorflow as tf$", "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()")
RATE = (r"\blr=", "learning_rate=")  # as Keras spells it since its third version
DIGITS = (
    r"^(?=.*?\b((?:tf\.keras\.)?datasets\.\w+\.load_data)\(\))( *)",
    r"\2import digits; \1 = digits.load_data\n\2",
)
UNPLOTTED = (r"^ *(?:import matplotlib|from matplotlib|plt\.).*\n", "")
DOCS = "tensorflow+docs/site/en"

PROGRAMS = (
    Public(  # Q-learning that predicts and fits state by state, each upon the one before
        "keon+deep-q-learning",
        ("dqn.py",),
        (
            RATE,
            (r"EPISODES = \d+", "EPISODES = 2"),
            (r"range\(500\)", "range(14)"),
            (r"batch_size = 32", "batch_size = 4"),
        ),
        (
            (r"^import random$", "import random\nimport tensorflow as tf"),
            (r"^( +)(self\.model = .*)", r"\1\2\n\1self.values = tf.function(self.model)"),
            (r"self\.model\.predict\((\w+)\)", r"self.values(\1).numpy()"),
            (r"self\.model\.fit\(state, target_f, .*\)", "self.model.train_on_batch(state, target_f)"),
        ),
        ("gym.py",),
    ),
    Public(  # the same where nothing changes between the states of a batch
        "PacktPublishing+Advanced-Deep-Learning-with-Keras/chapter9-drl",
        ("dqn-cartpole-9.6.1.py",),
        (
            (r"^from gym import.*\n", ""),
            (r"^    logger\..*\n", ""),
            (r"(?s)^    if args\.no_render:.*?(?=^    env\.seed)", ""),
            (r"episode_count = \d+", "episode_count = 12"),
            (r"batch_size = 64", "batch_size = 16"),
        ),
        (
            (r"self\.q_model\.predict\(state\)\n(?=        #)", "self.q_model.predict_on_batch(state)\n"),
            (
                r"(?s)^        state_batch, q_values_batch = \[\], \[\].*?(?=^        # train the Q-network)",
                """\
        states, actions, rewards, next_states, done = map(np.array, zip(*sars_batch))
        state_batch = states[:, 0]
        q_values_batch = self.q_model.predict_on_batch(state_batch)
        best = self.target_q_model.predict_on_batch(next_states[:, 0]).max(axis=1)
        q_values_batch[np.arange(batch_size), actions] = np.where(done, rewards, rewards + self.gamma * best)

""",
            ),
            (
                r"(?s)self\.q_model\.fit\(.*?verbose=0\)",
                "self.q_model.train_on_batch(state_batch, q_values_batch)",
            ),
        ),
        ("gym.py",),
    ),
    Public(  # a session, and the reading of a picture, built for each file
        "Smethan+ImageSorter",
        ("SortFiles.py", "scripts/__init__.py", "scripts/label_image.py"),
        (V1, (r"^from scripts import label_image$", "import photos\nphotos.make()\nfrom scripts import label_image")),
        (
            (
                r"(?s)def read_tensor_from_image_file\(.*?(?=def load_labels)",
                """\
READERS = {}

def reader(kind, height, width, mean, std):
  with tf.Graph().as_default() as graph:
    name = tf.placeholder(tf.string, [])
    data = tf.read_file(name)
    if kind == "png":
      image = tf.image.decode_png(data, channels=3)
    elif kind == "gif":
      image = tf.squeeze(tf.image.decode_gif(data))
    elif kind == "bmp":
      image = tf.image.decode_bmp(data)
    else:
      image = tf.image.decode_jpeg(data, channels=3)
    image = tf.image.resize_bilinear(tf.expand_dims(tf.cast(image, tf.float32), 0), [height, width])
    normalized = tf.divide(tf.subtract(image, [mean]), [std])
  return tf.Session(graph=graph), name, normalized

def read_tensor_from_image_file(file_name, input_height=299, input_width=299, input_mean=0, input_std=255):
  known = (file_name[-3:], input_height, input_width, input_mean, input_std)
  if known not in READERS:
    READERS[known] = reader(*known)
  sess, name, normalized = READERS[known]
  return sess.run(normalized, {name: file_name})

""",
            ),
            (r"^for file in glob", "sess = tf.Session(graph=graph)\nfor file in glob"),
            (r"^\twith tf\.Session.*\n\t\t(results = .*\n)\t\t(.*\n)", r"\t\1\t\2"),
        ),
        ("photos.py",),
    ),
    Public(  # operations made for each run of a session
        "nfmcclure+tensorflow_cookbook/02_TensorFlow_Way/05_Implementing_Back_Propagation",
        ("05_back_propagation.py",),
        (
            V1,
            (r"^(ops\.reset_default_graph.*)", r"\1\ntf.set_random_seed(0)"),
            (r"\b50\b", "250"),
            (r"/100\.", "/500."),
        ),
        (
            (r"^predictions = \[\]", "predicted = tf.round(tf.sigmoid(my_output))\npredictions = []"),
            (r"sess\.run\(tf\.round\(tf\.sigmoid\(my_output\)\),", "sess.run(predicted,"),
        ),
    ),
    Public(  # an actor and a critic: `predict` on single states, eager steps
        "marload+DeepRL-TensorFlow2/A2C",
        ("A2C_Discrete.py",),
        ((r"max_episodes=1000", "max_episodes=8"),),
        (
            (r"^( +)(self\.model = .*)", r"\1\2\n\1self.compiled = tf.function(self.model)"),
            (r"\.model\.predict\(\n?\s*(np.*)\)$", r".compiled(\1).numpy()"),
            (r"\.model\.predict\(state\)\)$", ".compiled(state).numpy())"),
            (r"^    def train\(self, states", "    @tf.function(reduce_retracing=True)\n    def train(self, states"),
        ),
        ("gym.py", "wandb.py"),
    ),
    Public(  # a gradient of a loss that is summed up state by state
        "philtabor+Youtube-Code-Repository/ReinforcementLearning/PolicyGradient/reinforce/tensorflow2",
        ("main.py", "reinforce_tf2.py", "networks.py"),
        (
            (r"^from utils import.*\n", ""),
            (r"^    filename = .*\n    plotLearning.*", ""),
            (r"num_episodes = \d+", "num_episodes = 20"),
            (r"n_actions=4\)\n\n    env", "n_actions=2)\n\n    env"),
        ),
        (
            (r"^( +)(self\.policy = .*)", r"\1\2\n\1self.probs = tf.function(self.policy)"),
            (r"probs = self\.policy\(state\)\n(        action_probs)", r"probs = self.probs(state)\n\1"),
            (
                r"(?s)^            loss = 0\n.*?(?=^        gradient)",
                """\
            states = tf.convert_to_tensor(self.state_memory, dtype=tf.float32)
            action_probs = tfp.distributions.Categorical(probs=self.policy(states))
            loss = -tf.reduce_sum(tf.cast(G, tf.float32) * action_probs.log_prob(actions))

""",
            ),
        ),
        ("gym.py", "tensorflow_probability.py"),
    ),
    Public(  # pictures prepared one by one
        "dragen1860+TensorFlow-2.x-Tutorials/05-FashionMNIST",
        ("mnist_fit.py",),
        (
            DIGITS,
            (r"epochs=30, steps_per_epoch=500", "epochs=8, steps_per_epoch=100"),
        ),
        ((r"^(  ds\w* = )(ds\w*)(\.map\(.*\))\n(  ds\w* = )ds\w*(\.shuffle.*)", r"\1\2\5\n\4\2\3"),),
        ("digits.py",),
    ),
    Public(  # a step of eager training in the midst of the loop
        "YunYang1994+TensorFlow2.0-Examples/3-Neural_Network_Architecture",
        ("autoencoder.py",),
        (
            DIGITS,
            RATE,
            (r"range\(10000\)", "range(400)"),
            (r"step % 200 ", "step % 100 "),
            (r"batch_size = 512", "batch_size = 64"),
            (r'(?s)^"""\nvisualize.*', ""),
            (r"(?s)^    if step % 1000.*", ""),
            UNPLOTTED,
            (r"coder\((\w+), training\)", r"coder(\1, training=training)"),
        ),
        (
            (r"/ 255\.$", "/ np.float32(255.)"),
            (r"(?s)^    with tf\.GradientTape\(\) as tape:\n.*?(?=^    if)", "    loss = train_step(true_image)\n"),
            (
                r"^for step in range",
                """\
@tf.function
def train_step(true_image):
    with tf.GradientTape() as tape:
        pred_image = model(true_image, training=True)
        loss = tf.reduce_mean(tf.square(pred_image-true_image))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss

for step in range""",
            ),
        ),
        ("digits.py",),
    ),
    Public(  # an official tutorial of a loop of one's own, with metrics
        f"{DOCS}/tutorials/customization",
        ("custom_training_walkthrough.ipynb",),
        (
            UNPLOTTED,
            (r"^import tensorflow_datasets.*\n", ""),
            (r"^print\(\"TensorFlow.*\n", ""),
            (
                r"(?s)^ds_preview, info.*?(?=^class_names)",
                """\
birds = tf.random.stateless_uniform([334, 4], [1, 2])
kinds = tf.cast(tf.reduce_sum(birds, axis=1), tf.int64) % 3
penguins = tf.data.Dataset.from_tensor_slices((birds, kinds))
ds_test, ds_train = penguins.take(67), penguins.skip(67)
""",
            ),
            (r"(?s)^ds_split, info.*?(?=^ds_train_batch)", ""),
            (r"^ {12}(?:features|c=labels|cmap).*\n", ""),
            (r"num_epochs = 201", "num_epochs = 101"),
            (r"(?s)^fig, axes.*?(?=^test_accuracy =)", ""),
        ),
        (
            (r"^  (epoch_\w+ = .*)$", ""),
            (
                r"^num_epochs = (.*)$",
                r"""num_epochs = \1
epoch_loss_avg = tf.keras.metrics.Mean()
epoch_accuracy = tf.keras.metrics.SparseCategoricalAccuracy()

@tf.function(reduce_retracing=True)
def train_step(x, y):
  loss_value, grads = grad(model, x, y)
  optimizer.apply_gradients(zip(grads, model.trainable_variables))
  epoch_loss_avg.update_state(loss_value)
  epoch_accuracy.update_state(y, model(x, training=True))
""",
            ),
            (
                r"(?s)^for epoch in range.*?(?=^  # End epoch)",
                """\
for epoch in range(num_epochs):
  epoch_loss_avg.reset_state()
  epoch_accuracy.reset_state()
  for x, y in ds_train_batch:
    train_step(x, y)

""",
            ),
        ),
    ),
    Public(  # an official guide with a step, an optimizer and layers of its own
        f"{DOCS}/guide/core",
        ("mlp_core.ipynb",),
        (
            (r"^(?:import seaborn|import pandas|import tensorflow_datasets|matplotlib\.).*\n", ""),
            UNPLOTTED,
            (
                r"(?s)^train_data, val_data, test_data = .*?(?=^def preprocess)",
                """\
import digits
(x, y), (x_val, y_val) = digits.load_data(2560, 512)
train_data = tf.data.Dataset.from_tensor_slices((x, y.astype("int64"))).batch(128)
val_data = tf.data.Dataset.from_tensor_slices((x_val, y_val.astype("int64"))).batch(128)
""",
            ),
            (r"  x = x/255", "  x = tf.cast(x, tf.float32)/255"),
            (r"layer_1_size = 700", "layer_1_size = 70"),
            (r"layer_2_size = 500", "layer_2_size = 50"),
            (r"(?s)^x = tf\.linspace.*?(?=^def xavier)", ""),
            (r"(?s)^def plot_metrics.*", ""),
        ),
        (
            (r"self\.t = 1\.", "self.t = tf.Variable(1., trainable=False, dtype=tf.float64)"),
            (r"/(\(1-\(self\.beta_\d\*\*self\.t\)\))", r"/tf.cast(\1, tf.float32)"),
            (r"self\.t \+= 1\.", "self.t.assign_add(1.)"),
            (r"^(def (?:train|val)_step)", r"@tf.function\n\1"),
        ),
        ("digits.py",),
    ),
    Public(  # an official tutorial that fits eagerly
        f"{DOCS}/tutorials/load_data",
        ("pandas_dataframe.ipynb",),
        (
            (
                r"^csv_file = .*\n\s*df = .*",
                """\
made = np.random.RandomState(0)
names = "age sex cp trestbps chol fbs restecg thalach exang oldpeak slope ca thal target".split()
df = pd.DataFrame(made.randint(0, 2, (100, len(names))), columns=names)
""",
            ),
            (r"^tf\.keras\.utils\.plot_model.*\n", ""),
            (r"epochs=\d+", "epochs=2"),
            (r"^model\.predict\(dict.*\n", ""),
            (r"(?s)^binary_feature_names.*", ""),
        ),
        ((r",\s*run_eager\w+=True", ""),),
    ),
)  # fmt: skip
