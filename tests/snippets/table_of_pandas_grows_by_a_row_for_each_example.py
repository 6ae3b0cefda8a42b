"""Of pandas: a table that grows by a row for each example; not one that is filled in, needed, or grows each epoch."""

import pandas as pd
import tensorflow as tf

model = tf.keras.models.load_model("model.keras")


def rows_after_the_last(dataset):
    found = pd.DataFrame(columns=["loss", "label"])
    for image, label in dataset:
        found.loc[len(found)] = [float(model(image)), label]  # growing-concat
    return found


def rows_of_all_columns(dataset, found):
    for image, label in dataset:
        found.loc[found.shape[0], :] = [float(model(image)), label]  # growing-concat
    return found


def tables_put_together(dataset, found):
    for image, _ in dataset:
        row = {"loss": float(model(image))}
        found = pd.concat([found, pd.DataFrame([row])], ignore_index=True)  # growing-concat
    return found


def rows_appended(dataset):
    found = pd.DataFrame()
    for image, _ in dataset:
        found = found.append({"loss": float(model(image))}, ignore_index=True)  # growing-concat
    return found


def filled_in(dataset, found):
    for number, (image, _) in enumerate(dataset):
        found.loc[number] = [float(model(image))]
    return found


def written_each_time(dataset, found):
    for image, _ in dataset:
        found = pd.concat([found, pd.DataFrame([float(model(image))])])
        found.to_csv("found.csv")


def made_anew(dataset, tables):
    for image, table in zip(dataset, tables):
        both = pd.concat([table, pd.DataFrame([float(model(image))])])
        both.to_csv("found.csv", mode="a")


def parts_of_a_list(dataset, rows):
    for image, _ in dataset:
        rows.append(float(model(image)))
    return pd.DataFrame(rows)


def row_of_each_epoch(dataset, found):
    for epoch in range(10):
        for image, label in dataset:
            model.train_on_batch(image, label)
        found.loc[len(found)] = [epoch, 0.0]
    return found
