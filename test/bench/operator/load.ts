import { residentMemory } from '../../support/processes.js';
import { processorSeconds, processorTimes } from '../shared/processor.js';

/** CPU time that each program uses from now on. */
export class Load {
  readonly #before: Map<string, number>;
  readonly #began = performance.now();

  constructor(readonly pids: Record<string, number | undefined>) {
    this.#before = readTimes(pids);
  }

  #used(): [string, number][] {
    return [...readTimes(this.pids)].map(([name, us]) => [name, (us - (this.#before.get(name) ?? 0)) / 1e6]);
  }

  seconds(name: string): number {
    return new Map(this.#used()).get(name) ?? 0;
  }

  describe(): string {
    return this.#used()
      .map(([name, used]) => `${name} ${used.toFixed(1)} s`)
      .join(', ');
  }

  /** Percent of a core. */
  share(...names: string[]): number {
    const used = this.#used().filter(([name]) => names.includes(name));
    return used.reduce((sum, [, seconds]) => sum + seconds, 0) / ((performance.now() - this.#began) / 1e5);
  }

  shares(): string {
    return Object.keys(this.pids)
      .map((name) => `${name} ${this.share(name).toFixed(1)} %`)
      .join(', ');
  }

  memory(name: string): string {
    return `${(residentMemory(this.pids[name]!) / 1e6).toFixed(0)} MB resident`;
  }
}

/** Microseconds by name. This process counts without the programs that it has started. */
function readTimes(pids: Load['pids']): Map<string, number> {
  const times = processorTimes(pids);
  for (const [name, pid] of Object.entries(pids))
    if (pid === process.pid) times.set(name, processorSeconds([pid]) * 1e6);
  return times;
}
