"""A graph that every simulation builds afresh does not grow; a step's counter that is looked up is no new op."""

import tensorflow.compat.v1 as tf


def simulate(rows):
    tf.reset_default_graph()
    x = tf.placeholder(tf.float32, [None, 4])
    loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
    train = tf.train.AdamOptimizer().minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for row in rows:
            session.run([train, loss], {x: row})


def simulate_by_hand(rows):
    tf.reset_default_graph()
    x = tf.placeholder(tf.float32, [None, 4])
    with tf.Session() as session:  # session-in-loop
        session.run(tf.global_variables_initializer())
        return session.run(tf.reduce_mean(x), {x: rows})


def simulations(rows):
    for simulation in range(20):
        simulate(rows)
        simulate_by_hand(rows)


def watch(session, steps, copy_parameters):
    while session.run(steps) < 1000:
        session.run([tf.contrib.framework.get_global_step(), copy_parameters])
        session.run(tf.train.get_global_step())


def watch_with_a_counter_of_its_own(session, copy_parameters):
    for batch in range(1000):
        session.run([tf.train.get_global_step(), copy_parameters, tf.ones([2])])  # ops-in-loop
