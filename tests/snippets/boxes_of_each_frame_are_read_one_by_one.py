import cv2
import tensorflow as tf
import tensorflow_hub as hub

detector = hub.load("https://tfhub.dev/tensorflow/ssd_mobilenet_v2/2")
classifier = tf.keras.models.load_model("classifier.keras")
capture = cv2.VideoCapture("street.mp4")


def draw(frame, boxes, scores):
    for i in range(len(scores[0])):
        if scores[0][i].numpy() < 0.5:  # fetch-per-step
            continue
        ymin, xmin, ymax, xmax = boxes[0, i].numpy()
        cv2.rectangle(frame, (int(xmin), int(ymin)), (int(xmax), int(ymax)), (0, 255, 0), 2)


def count(out):
    return sum(1 for i in range(int(out["num_detections"][0])) if out["detection_scores"][0][i].numpy() > 0.5)


while True:
    ok, frame = capture.read()
    if not ok:
        break
    out = detector(tf.convert_to_tensor(frame[None, ...]))
    draw(frame, out["detection_boxes"], out["detection_scores"])
    for i in range(int(out["num_detections"][0])):
        score = out["detection_scores"][0][i].numpy()  # fetch-per-step
        if score > 0.5:
            print(int(out["detection_classes"][0][i].numpy()), score, out["detection_boxes"][0][i].numpy())
    scores = out["detection_scores"][0]
    print(max(float(scores[i]) for i in range(100)))  # fetch-per-step
    classes = tf.argmax(classifier(frame[None, ...]), -1)
    names = [NAMES[int(classes[i])] for i in range(len(classes))]  # fetch-per-step
