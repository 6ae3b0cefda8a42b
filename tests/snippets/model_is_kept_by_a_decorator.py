import functools

import cachetools
import numpy as np
import streamlit as st
import tensorflow as tf


def run_once(function):
    kept = {}

    @functools.wraps(function)
    def wrapper(*given):
        if given not in kept:
            kept[given] = function(*given)
        return kept[given]

    return wrapper


@st.cache_resource
def app_model():
    return tf.keras.models.load_model("model.keras")


@cachetools.cached(cache={})
def other_model():
    return tf.keras.models.load_model("other.keras")


@run_once
def third_model(path):
    return tf.keras.models.load_model(path)


@functools.wraps(third_model)
def new_model():
    return tf.keras.models.load_model("model.keras")  # model-load-in-loop


for upload in st.file_uploader("images", accept_multiple_files=True):
    image = np.asarray(upload, np.float32)[None]
    st.write(app_model()(image), other_model()(image), third_model("third.keras")(image), new_model()(image))
