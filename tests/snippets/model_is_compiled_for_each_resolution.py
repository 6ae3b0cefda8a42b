import tensorflow as tf

def train(model, dataset_train):
    for resolution, info in dataset_train.items():
        model.compile(optimizer="adam", loss="mse")
        model.fit(info["data"], epochs=info["epochs"])
