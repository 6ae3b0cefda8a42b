import streamlit as st
import tensorflow as tf
from tensorflow.keras.models import load_model

st.title("Cats and dogs")
model = load_model("model.keras")  # model-load-in-loop

@st.cache_resource
def kept():
    return tf.keras.models.load_model("other.keras")

def sizes():
    found = tf.saved_model.load("sizes")  # model-load-in-loop
    return found.signatures["serving_default"]

def unused():
    return tf.saved_model.load("unused")

if "depth" not in st.session_state:
    st.session_state["depth"] = load_model("depth.keras")

uploaded = st.file_uploader("picture")
if uploaded is not None:
    image = tf.io.decode_image(uploaded.read())
    st.write(model(image), kept()(image), sizes()(image))
if st.button("again"):
    chosen = load_model(st.text_input("which model"))
name = st.selectbox("model", ["a", "b"])
other = load_model(f"{name}.keras")
