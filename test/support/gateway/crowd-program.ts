import { connect, type Socket } from 'node:net';
import { serve } from '../helper-program.js';
import type { CrowdPlan, CrowdState } from './crowd-process.js';

const STEP_MS = 50;
const REFUSED_WITHIN_MS = 1_000;
const STATUS = /^HTTP\/1\.1 (\d{3})/;

/** The connections of one plan. */
class Connections {
  readonly #standing = new Set<Socket>();
  readonly #timers: NodeJS.Timeout[];
  readonly #statuses: Record<string, number> = {};
  readonly #closedAfter: number[] = [];
  readonly #began = performance.now();
  #opened = 0;
  #refused = 0;
  #step = 0;

  constructor(readonly plan: CrowdPlan) {
    this.#timers = [
      setInterval(() => this.#openDue(), STEP_MS),
      ...(plan.piece === '' ? [] : [setInterval(() => this.#trickle(), STEP_MS)]),
    ];
  }

  state(): CrowdState {
    const sorted = this.#closedAfter.sort((a, b) => a - b);
    return {
      opened: this.#opened,
      refused: this.#refused,
      standing: this.#standing.size,
      closedAfter: sorted.length > 0 ? { p50: sorted[sorted.length >> 1]!, max: sorted.at(-1)! } : null,
      statuses: this.#statuses,
    };
  }

  leave(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const socket of this.#standing) socket.destroy();
  }

  #openDue(): void {
    const { count, perSecond } = this.plan;
    const due = Math.min(count, Math.ceil(((performance.now() - this.#began) * perSecond) / 1000));
    while (this.#opened < due) this.#open();
  }

  #open(): void {
    const { port, addresses, first, reads } = this.plan;
    const localAddress = addresses[this.#opened++ % addresses.length]!;
    const socket = connect({ host: '127.0.0.1', port, localAddress });
    const openedAt = performance.now();
    let answered = false;
    this.#standing.add(socket);
    if (first !== '') socket.write(first);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      if (!answered) this.#countStatus(chunk);
      answered = true;
      if (!reads) socket.pause();
    });
    socket.on('close', () => {
      this.#standing.delete(socket);
      const after = performance.now() - openedAt;
      if (!answered && after < REFUSED_WITHIN_MS) this.#refused++;
      else this.#closedAfter.push(after / 1000);
    });
  }

  #countStatus(chunk: Buffer): void {
    const status = STATUS.exec(chunk.toString('latin1', 0, 20))?.[1];
    if (status !== undefined) this.#statuses[status] = (this.#statuses[status] ?? 0) + 1;
  }

  /** Sends pieces on an equal share of the connections in each step. */
  #trickle(): void {
    const { piece, everyMs } = this.plan;
    const steps = Math.max(1, Math.floor(everyMs / STEP_MS));
    let index = 0;
    for (const socket of this.#standing) {
      if (index++ % steps === this.#step && socket.writable) socket.write(piece);
    }
    this.#step = (this.#step + 1) % steps;
  }
}

const crowds = new Map<string, Connections>();

serve(
  {
    open: (plan: CrowdPlan) => void crowds.set(plan.name, new Connections(plan)),
    states: () => Object.fromEntries([...crowds].map(([name, crowd]) => [name, crowd.state()])),
    leave: () => {
      for (const crowd of crowds.values()) crowd.leave();
      crowds.clear();
    },
  },
  () => Promise.resolve(),
);
