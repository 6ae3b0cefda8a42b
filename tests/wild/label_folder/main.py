"""Label every picture in a folder.

    python main.py --limit 50
"""
from __future__ import print_function

import argparse
import glob
import os
import shutil
import tempfile
from collections import Counter

import classify
import fixtures


def parse_args():
    ap = argparse.ArgumentParser()
    ap.add_argument('--limit', type=int, default=50, help='how many pictures')
    ap.add_argument('--folder', default=None)
    ap.add_argument('--graph', default=None)
    return ap.parse_args()


def main():
    args = parse_args()
    scratch = tempfile.mkdtemp(prefix='label_folder')
    folder = args.folder or fixtures.write_pictures(os.path.join(scratch, 'pics'), args.limit)
    graph = args.graph or fixtures.write_graph(os.path.join(scratch, 'frozen.pb'))

    tally = Counter()
    total = 0.0
    for filename in sorted(glob.glob(os.path.join(folder, '*.npy'))):
        label, score = classify.classify(filename, graph)
        tally[label] += 1
        total += score

    for label in sorted(tally):
        print('%-8s %d' % (label, tally[label]))
    print('mean score %.3f' % (total / sum(tally.values())))
    shutil.rmtree(scratch)


if __name__ == '__main__':
    main()
