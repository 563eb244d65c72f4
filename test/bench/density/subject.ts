import type { Memory } from '../shared/usage.js';

/** A program that keeps phone numbers connected, as the density benchmark measures it. */
export interface Subject {
  name: string;
  /** Number of processes, for the printed table. */
  kind: string;
  /** One process serves all phone numbers. */
  oneForAll?: boolean;
  /** Connects phone numbers until there are this many. */
  grow(count: number): Promise<void>;
  /** The connected phone numbers. */
  phones(): string[];
  /** Processes whose number or size grows with the phone numbers. */
  pids(): number[];
  /** Usage of the supporting processes, whose number is fixed; absent if there are none. */
  around?(): Around;
}

/** CPU time used so far, and current memory. */
export interface Around {
  processorSeconds: number;
  memory: Memory;
}
