"""The C of the simulator that is the same for all machines: cycles, what is under way, and the faults.

Code comes as tables (`planish.run.vliw.tables` lays them out, and says what each entry is); operations are called by
their numbers. What a packet writes is computed at once and lies in a ring of the cycles to come until it is due.

>>> "planish_simulate" in CORE
True
"""

CORE = r"""
#include <stdlib.h>
#include <string.h>

typedef struct {
  int32_t number, at, width, bytes, sign, read;
  int32_t base, base_number, base_bytes, offset_at, offset_bytes, step_at, step_bytes, alignment, copied, padding;
  int64_t offset, step;
} Operand;

typedef struct {
  int32_t function, unit, latency, busy, guard, guard_bytes, negated, target;
  int32_t first, operands, outputs, address, extends, moves, transfer, channel;
  int64_t immediates[4];
} Issue;

typedef struct { int32_t first, issues, ports, waits; } Packet;

typedef struct {
  unsigned char *registers;
  const int32_t *file_of, *writers;
  unsigned char *const *memories;
  const int64_t *sizes;
  int64_t register_count, file_count, unit_count, ring, room, wide, update_latency, has_writers;
  int64_t channels, startup;
  double bytes_per_cycle;
} Machine;

typedef struct { int32_t number, at, width, issue; unsigned char *value; } Write;
typedef struct { int32_t memory, bytes, issue, padding; int64_t address; unsigned char *value; } Store;
typedef struct { int32_t to, from; int64_t d, s, bytes, rows, d_step, s_step, done; } Block;
typedef struct { int32_t writes, stores; int64_t target; Write *write; Store *store; unsigned char *value; } Slot;

enum { OUTSIDE = 1, UNALIGNED, BUSY, WRITES, WRITE_PORTS, READ_PORTS, JUMPS, END, ENDLESS, CHANNEL, MOVED };
enum { START = 1, WAIT };

static inline int64_t planish_number(const unsigned char *at, int32_t bytes)
{
  int64_t x = 0;
  if (bytes >= 8) {
    memcpy(&x, at, 8);
    return x;
  }
  memcpy(&x, at, (size_t)bytes);
  const int shift = 64 - 8 * bytes;
  return (int64_t)((uint64_t)x << shift) >> shift;
}

static inline void planish_copy(unsigned char *to, const unsigned char *from, int32_t bytes)
{
  if (bytes == WIDE) {
    memcpy(to, from, WIDE);
  } else if (bytes == 8) {
    memcpy(to, from, 8);
  } else {
    memcpy(to, from, (size_t)bytes);
  }
}

static inline int planish_holds(const unsigned char *at, int32_t bytes)
{
  if (bytes == 8) {
    uint64_t x;
    memcpy(&x, at, 8);
    return x != 0;
  }
  for (int32_t i = 0; i < bytes; i++) {
    if (at[i]) {
      return 1;
    }
  }
  return 0;
}

static inline int64_t planish_address(const Operand *o, const unsigned char *registers)
{
  const int64_t address = planish_number(registers + o->base, o->base_bytes) + o->offset;
  return o->offset_at >= 0 ? address + planish_number(registers + o->offset_at, o->offset_bytes) : address;
}

/* Whether bytes are among those of rows. */
static inline int planish_touches(const Block *b, int64_t base, int64_t step, int64_t start, int64_t count)
{
  if (step < 0) {
    base += (b->rows - 1) * step;
    step = -step;
  }
  const int64_t before = start - base - b->bytes;
  const int64_t row = step && before >= 0 ? before / step + 1 : 0;
  return row < b->rows && base + row * step < start + count && start < base + row * step + b->bytes;
}

/* Whether a transfer that is under way forbids an access. */
static inline int planish_moved(
    const Block *blocks, int64_t channels, int64_t now, int32_t memory, int64_t start, int64_t count, int is_store)
{
  for (int64_t i = 0; i < channels; i++) {
    const Block *const b = blocks + i;
    if (b->done <= now || b->bytes <= 0 || b->rows <= 0 || count <= 0) {
      continue;
    }
    if (memory == b->to && planish_touches(b, b->d, b->d_step, start, count)) {
      return 1;
    }
    if (is_store && memory == b->from && planish_touches(b, b->s, b->s_step, start, count)) {
      return 1;
    }
  }
  return 0;
}

static inline int planish_fits(int64_t base, int64_t step, int64_t rows, int64_t bytes, int64_t size)
{
  const int64_t last = base + (rows - 1) * step;
  return base >= 0 && last >= 0 && base + bytes <= size && last + bytes <= size;
}

#define FAULT(kind, by, first_detail, second_detail)                                                                 \
  do {                                                                                                               \
    report[1] = (kind), report[2] = (by), report[3] = place, report[4] = cycle;                                      \
    report[5] = (first_detail), report[6] = (second_detail);                                                         \
    goto done;                                                                                                       \
  } while (0)

/* Reports cycles, the kind of the fault, its operation (-1: none), the packet and the cycle, two details; and how often
 * packets were issued. */
int64_t planish_simulate(
    const Packet *packets, const Issue *issues, const Operand *operands, int64_t count, const Machine *machine,
    int64_t most, int64_t *counts, int64_t *report)
{
  const int64_t mask = machine->ring - 1, room = machine->room;
  unsigned char *const registers = machine->registers;
  const size_t slots = (size_t)machine->ring, rooms = (size_t)room;
  Slot *ring = calloc(slots, sizeof(Slot));
  Write *write = calloc(slots * rooms, sizeof(Write));
  Store *store = calloc(slots * rooms, sizeof(Store));
  unsigned char *block = malloc(slots * rooms * WIDE + 128);
  int64_t *last = calloc((size_t)machine->register_count, sizeof(int64_t));
  int64_t *kept = calloc((size_t)machine->unit_count, sizeof(int64_t));
  int32_t *ports = calloc((size_t)machine->file_count, sizeof(int32_t));
  Block *blocks = calloc((size_t)machine->channels + 1, sizeof(Block));
  Block *started = calloc((size_t)machine->channels + 1, sizeof(Block));
  int64_t cycle = 0, place = 0, landed = 0, end = 0, under_way = 0, jumps = 0, stalled = 0, moving = 0, starts = 0;
  int result = 1;
  _Alignas(128) unsigned char aligned[WIDE];
  if (!ring || !write || !store || !block || !last || !kept || !ports || !blocks || !started) {
    goto none;
  }
  result = 0;
  unsigned char *const values = block + (128 - (uintptr_t)block % 128) % 128;
  for (int64_t i = 0; i < machine->ring; i++) {
    ring[i] = (Slot){0, 0, -1, write + i * room, store + i * room, values + i * room * WIDE};
  }
  while (place < count || under_way) {
    if (cycle >= most) {
      FAULT(ENDLESS, -1, most, 0);
    }
    Slot *const now = ring + (cycle & mask);
    if (now->writes | now->stores) {
      if (machine->has_writers) {
        memset(ports, 0, (size_t)machine->file_count * sizeof(int32_t));
      }
      const Write *w = now->write;
      for (const Write *const stop = w + now->writes; w < stop; w++) {
        if (last[w->number] == cycle) {
          FAULT(WRITES, w->issue, w->number, 0);
        }
        last[w->number] = cycle;
        if (machine->has_writers) {
          const int32_t file = machine->file_of[w->number];
          if (++ports[file] > machine->writers[file] && machine->writers[file]) {
            FAULT(WRITE_PORTS, w->issue, file, machine->writers[file]);
          }
        }
        planish_copy(registers + w->at, w->value, w->width);
      }
      for (int32_t i = 0; i < now->stores; i++) {
        const Store *const s = now->store + i;
        for (int32_t j = 0; j < i; j++) {
          const Store *const t = now->store + j;
          if (t->memory == s->memory && t->address < s->address + s->bytes && s->address < t->address + t->bytes) {
            FAULT(WRITES, s->issue, -1 - s->memory, s->address);
          }
        }
        if (moving > cycle + stalled &&
            planish_moved(blocks, machine->channels, cycle + stalled, s->memory, s->address, s->bytes, 1)) {
          FAULT(MOVED, s->issue, s->address, s->memory);
        }
        planish_copy(machine->memories[s->memory] + s->address, s->value, s->bytes);
      }
      under_way -= now->writes + now->stores;
      now->value -= (now->writes + now->stores) * WIDE;
      now->writes = now->stores = 0;
      landed = cycle + stalled;
    }
    if (place < count) {
      const Packet *const packet = packets + place;
      const Issue *x = issues + packet->first;
      counts[place]++;
      if (packet->waits) {
        for (const Issue *y = x; y < x + packet->issues; y++) {
          if (y->transfer == WAIT && !(y->guard >= 0 &&
              planish_holds(registers + y->guard, y->guard_bytes) == y->negated)) {
            if (y->channel < 0) {
              FAULT(CHANNEL, y - issues, y->immediates[0], 0);
            }
            const int64_t done = blocks[y->channel].done;
            stalled += done > cycle + stalled ? done - cycle - stalled : 0;
          }
        }
      }
      for (const Issue *const stop = x + packet->issues; x < stop; x++) {
        if (kept[x->unit] > cycle) {
          FAULT(BUSY, x - issues, kept[x->unit], 0);
        }
        kept[x->unit] = cycle + x->busy;
        if (x->guard >= 0 && planish_holds(registers + x->guard, x->guard_bytes) == x->negated) {
          continue;
        }
        Slot *const then = ring + ((cycle + x->latency) & mask);
        if (x->target >= 0) {
          if (then->target >= 0) {
            FAULT(JUMPS, x - issues, 0, 0);
          }
          then->target = x->target;
          under_way++;
          jumps++;
          continue;
        }
        if (x->transfer) {
          if (x->transfer == WAIT) {
            continue;
          }
          if (x->channel < 0) {
            FAULT(CHANNEL, x - issues, x->immediates[0], 0);
          }
          const Operand *const o = operands + x->first;
          int64_t n[4];
          for (int i = 0; i < 4; i++) {
            n[i] = planish_number(registers + o[2 + i].at, o[2 + i].width);
          }
          Block b = {o[0].number, o[1].number, planish_address(o, registers), planish_address(o + 1, registers), n[0],
                     n[1], n[2], n[3], x->channel};
          const int64_t rows = b.bytes > 0 ? b.rows : 0;
          if (rows > 0 && !planish_fits(b.d, b.d_step, rows, b.bytes, machine->sizes[b.to])) {
            FAULT(OUTSIDE, x - issues, b.d, b.to);
          }
          if (rows > 0 && !planish_fits(b.s, b.s_step, rows, b.bytes, machine->sizes[b.from])) {
            FAULT(OUTSIDE, x - issues, b.s, b.from);
          }
          int taken = blocks[b.done].done > cycle + stalled;
          for (int64_t i = 0; i < starts; i++) {
            taken |= started[i].done == b.done;
          }
          if (taken) {
            FAULT(CHANNEL, x - issues, b.done, 1);
          }
          for (int64_t i = 0; i < rows && moving > cycle + stalled; i++) {
            const int64_t to = b.d + i * b.d_step, from = b.s + i * b.s_step;
            if (planish_moved(blocks, machine->channels, cycle + stalled, b.to, to, b.bytes, 1)) {
              FAULT(MOVED, x - issues, to, b.to);
            }
            if (planish_moved(blocks, machine->channels, cycle + stalled, b.from, from, b.bytes, 0)) {
              FAULT(MOVED, x - issues, from, b.from);
            }
          }
          started[starts++] = b;
          continue;
        }
        void *p[OPERANDS];
        const Operand *const operand = operands + x->first;
        for (int32_t i = 0; i < x->operands; i++) {
          p[i] = registers + operand[i].at;
        }
        int64_t address = 0;
        if (x->address >= 0) {
          const Operand *const o = operand + x->address;
          address = planish_address(o, registers);
          if (address < 0 || address > machine->sizes[o->number] - o->bytes) {
            FAULT(OUTSIDE, x - issues, address, o->number);
          }
          if (address % o->alignment) {
            FAULT(UNALIGNED, x - issues, address, o->number);
          }
          if (o->read && moving > cycle + stalled &&
              planish_moved(blocks, machine->channels, cycle + stalled, o->number, address, o->bytes, 0)) {
            FAULT(MOVED, x - issues, address, o->number);
          }
          p[x->address] = machine->memories[o->number] + address;
          if (o->copied) {
            memcpy(aligned, p[x->address], (size_t)o->bytes);
            p[x->address] = aligned;
          }
        }
        for (int32_t i = 0; i < x->outputs; i++) {
          const Operand *const o = operand + i;
          if (o->read) {
            planish_copy(then->value, p[i], o->bytes);
          }
          p[i] = then->value;
          then->value += WIDE;
          under_way++;
          if (i != x->address) {
            then->write[then->writes++] = (Write){o->number, o->at, o->width, (int32_t)(x - issues), p[i]};
          } else {
            then->store[then->stores++] = (Store){o->number, o->bytes, (int32_t)(x - issues), 0, address, p[i]};
          }
        }
        planish_operations[x->function](x->immediates, p);
        if (x->extends) {
          for (int32_t i = 0; i < x->outputs; i++) {
            const Operand *const o = operand + i;
            unsigned char *const value = p[i];
            if (i == x->address) {
              continue;
            }
            if (o->bytes == 4 && o->width == 8) {
              const int32_t filler = o->sign ? (int32_t)(int8_t)value[3] >> 7 : 0;
              memcpy(value + 4, &filler, 4);
            } else if (o->bytes < o->width) {
              memset(value + o->bytes, o->sign && value[o->bytes - 1] & 0x80 ? 0xff : 0, (size_t)(o->width - o->bytes));
            }
          }
        }
        if (x->moves) {
          const Operand *const o = operand + x->address;
          Slot *const later = ring + ((cycle + machine->update_latency) & mask);
          unsigned char *const value = later->value;
          int64_t moved = planish_number(registers + o->base, o->base_bytes) + o->step;
          if (o->step_at >= 0) {
            moved += planish_number(registers + o->step_at, o->step_bytes);
          }
          memcpy(value, &moved, 8);
          if (o->base_bytes > 8) {
            memset(value + 8, moved < 0 ? 0xff : 0, (size_t)(o->base_bytes - 8));
          }
          later->value += WIDE;
          later->write[later->writes++] =
              (Write){o->base_number, o->base, o->base_bytes, (int32_t)(x - issues), value};
          under_way++;
        }
      }
      for (int64_t i = 0; i < starts; i++) {
        Block b = started[i];
        const int64_t channel = b.done, total = b.bytes > 0 && b.rows > 0 ? b.bytes * b.rows : 0;
        if (total) {
          unsigned char *const rows = malloc((size_t)total);
          if (!rows) {
            result = 1;
            goto none;
          }
          for (int64_t j = 0; j < b.rows; j++) {
            memcpy(rows + j * b.bytes, machine->memories[b.from] + b.s + j * b.s_step, (size_t)b.bytes);
          }
          for (int64_t j = 0; j < b.rows; j++) {
            memcpy(machine->memories[b.to] + b.d + j * b.d_step, rows + j * b.bytes, (size_t)b.bytes);
          }
          free(rows);
        }
        const double cycles = (double)total / machine->bytes_per_cycle;
        const int64_t ready = cycle + stalled + machine->startup;
        b.done = (ready > moving ? ready : moving) + (int64_t)cycles + ((double)(int64_t)cycles < cycles);
        blocks[channel] = b;
        moving = b.done > moving ? b.done : moving;
      }
      starts = 0;
      if (packet->ports) {
        FAULT(READ_PORTS, packet->first, packet->ports, 0);
      }
      end = cycle + stalled + 1;
    } else if (jumps) {
      FAULT(END, -1, 0, 0);
    }
    cycle++;
    Slot *const next = ring + (cycle & mask);
    place += place < count;
    if (next->target >= 0) {
      place = next->target;
      next->target = -1;
      under_way--;
      jumps--;
    }
  }
done:
  report[0] = end > landed ? end : landed;
  report[0] = report[0] > moving ? report[0] : moving;
  report[7] = stalled;
none:
  free(ring);
  free(write);
  free(store);
  free(block);
  free(last);
  free(kept);
  free(ports);
  free(blocks);
  free(started);
  return result;
}
"""
