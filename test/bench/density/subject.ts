import type { Memory } from '../shared/usage.js';

/** Something that keeps numbers connected, as the benchmark of density looks at it. */
export interface Subject {
  name: string;
  /** How its processes are divided: for the page. */
  kind: string;
  /** One process has all numbers. */
  oneForAll?: boolean;
  /** So many numbers in all, each connected. */
  grow(count: number): Promise<void>;
  /** Those numbers. */
  phones(): string[];
  /** Processes that there are more of with more numbers, or one that grows. */
  pids(): number[];
  /** What else has to run, however many numbers there are; nothing where it is absent. */
  around?(): Around;
}

/** What programs have used so far, and have now. */
export interface Around {
  processorSeconds: number;
  memory: Memory;
}
