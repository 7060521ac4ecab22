#include <stdint.h>

/*
 * One add-compare-select step of a Viterbi decoder with a shift-register
 * trellis: states i and i + states/2 are reached from 2*i and 2*i + 1.
 * cost:     2 * states branch costs, cost[2*s + bit] leaving state s by bit
 * metric:   path metrics before the step, next: after it (saturating)
 * decision: 1 where the odd predecessor has won
 * states is even.
 */
void viterbi_step(const uint16_t *restrict metric, const uint16_t *restrict cost,
                  uint16_t *restrict next, uint8_t *restrict decision,
                  int states)
{
    int half = states >> 1;
    int bit, i;

    for (bit = 0; bit < 2; bit++)
        for (i = 0; i < half; i++) {
            int32_t m0 = (int32_t)metric[2 * i] + cost[4 * i + bit];
            int32_t m1 = (int32_t)metric[2 * i + 1] + cost[4 * i + 2 + bit];
            int32_t best = m1 < m0 ? m1 : m0;

            decision[bit * half + i] = (uint8_t)(m1 < m0);
            next[bit * half + i] = (uint16_t)(best > 65535 ? 65535 : best);
        }
}

/*
 * A frame of steps: metric is read and left updated, work is scratch
 * (states entries each), cost and decision advance step by step.
 */
void viterbi_frame(uint16_t *metric, uint16_t *work, const uint16_t *cost,
                   uint8_t *decision, int states, int steps)
{
    int s, i;

    for (s = 0; s < steps; s++) {
        viterbi_step(metric, cost, work, decision, states);
        for (i = 0; i < states; i++)
            metric[i] = work[i];
        cost += 2 * states;
        decision += states;
    }
}
