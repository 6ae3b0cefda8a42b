import numpy as np
from tensorflow.keras.models import Sequential
from tensorflow.keras.preprocessing.sequence import pad_sequences

model = Sequential()
seed = "once upon a time"
for _ in range(next_words):
    tokens = tokenizer.texts_to_sequences([seed])[0]
    tokens = pad_sequences([tokens], maxlen=20, padding="pre")
    predicted = np.argmax(model.predict(tokens, verbose=0))  # predict-in-loop
    seed += " " + index_word[predicted]
