#!/usr/bin/env bash
# Install, and evaluate the lexical baseline on JACSTS, QABot, WikiQA and TREC-QA with mteb: on the
# real data where it is at hand (MTEB_EXT_DATA) or can be fetched, else on the bundled samples.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh
install_into_environment .

results="results/quickstart"
rm -rf "$results"
tasks=(JACSTS QABot WikiQA TRECQA)
if mteb-ext fetch JACSTS WikiQA TRECQA; then
    data="the papers' own data"
else
    data="the bundled made-up samples, because the real data could not be had (see above)"
    tasks=("${tasks[@]/%/.sample}")
fi
mteb run -t "${tasks[@]}" --output-folder "$results" -v 1
mteb-ext report "$results"
echo "These results are on $data."
