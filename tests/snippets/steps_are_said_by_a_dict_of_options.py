import tensorflow as tf

CONFIG = {"steps": 1000, "warm": {"ups": 3}, "changed": 3, "size": 224, "buffer": 9000}
CONFIG["changed"] = int(input())
OTHER = dict(few=3, items=3)
OTHER.update(items=3000)

def run(given, other):
    for i in range(given["steps"]):
        tf.keras.models.load_model("model.keras")  # model-load-in-loop
    for i in range(given["warm"]["ups"]):
        tf.keras.models.load_model("model.keras")
    for i in range(given["changed"]):
        tf.keras.models.load_model("model.keras")  # model-load-in-loop
    for i in range(other["items"]):
        tf.keras.models.load_model("model.keras")  # model-load-in-loop

class Data:
    def __init__(self, config):
        self.config = config

    def parse(self, record):
        image = tf.io.decode_jpeg(record, channels=3)
        return tf.image.resize(image, [self.config["size"], self.config["size"]])

    def build(self, files):
        records = tf.data.TFRecordDataset(files).map(self.parse)
        return records.shuffle(self.config["buffer"]).batch(32)  # shuffle-buffer

run(CONFIG, OTHER)
Data(CONFIG).build(["a", "b"])
