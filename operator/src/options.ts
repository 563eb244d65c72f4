import type { ConfigOf } from '@gwk/core/config/load';
import type { operatorSettings } from '@gwk/core/config/operator';
import type { Backoff } from './controller/queue.js';

export type OperatorConfig = ConfigOf<typeof operatorSettings>;

export interface OperatorOptions {
  /** Command to run instead of `gwk engine` (local cluster). */
  engineCommand?: [string, ...string[]];
  leaseTimeoutMs?: number;
  stuckMs?: number;
  outageMs?: number;
  graceMs?: number;
  callTimeoutMs?: number;
  /** Receives the log lines of engines (local cluster); standard output by default. */
  print?: (line: string) => void;
  /** Backoff of failed reconciles and of engine restarts. */
  backoff?: Backoff;
}

export interface RunningOperator {
  port: number;
  stop(): Promise<void>;
}
