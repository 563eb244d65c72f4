import { Helper } from '../helper.js';

/** Connections that a process of their own opens and holds, as an attacker does. */
export interface CrowdPlan {
  name: string;
  port: number;
  count: number;
  /** Connections opened per second. */
  perSecond: number;
  /** Local addresses, each of which opens an equal share. */
  addresses: string[];
  /** Sent once on each connection. */
  first: string;
  /** Sent every `everyMs` on each connection. */
  piece: string;
  everyMs: number;
  /** Whether the client reads what it receives. */
  reads: boolean;
}

export interface CrowdState {
  opened: number;
  /** Closed by the server within a second of their opening, without an answer. */
  refused: number;
  standing: number;
  /** Seconds from the opening to the close by the server, for those not refused. */
  closedAfter: { p50: number; max: number } | null;
  /** Connections by the status of their first answer. */
  statuses: Record<string, number>;
}

export class CrowdProcess {
  readonly #helper: Helper;

  private constructor(helper: Helper) {
    this.#helper = helper;
  }

  static async start(): Promise<CrowdProcess> {
    return new CrowdProcess(await Helper.start('gateway/crowd-program'));
  }

  /** Begins to open the connections. */
  open(plan: CrowdPlan): Promise<void> {
    return this.#helper.control('open', plan);
  }

  /** Counts of each plan by its name. */
  states(): Promise<Record<string, CrowdState>> {
    return this.#helper.control('states');
  }

  /** Closes all connections and resets the counts. */
  leave(): Promise<void> {
    return this.#helper.control('leave');
  }

  stop(): Promise<void> {
    return this.#helper.stop();
  }
}
