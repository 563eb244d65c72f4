import type { RawEnginePod } from './fake-node.js';

/** An interval in which an engine could serve its instance, in ms of `performance.now`. */
export interface Served {
  instance: string;
  engine: string;
  from: number;
  /**
   * When it closed its socket, or when its lease ends. Like a real engine it checks the lease before each action, so
   * that it does not act after the lease even if it stops late.
   */
  to: number;
  open: boolean;
}

const RENEW_MS = 200;
/** An engine does not act from this long before the end of its lease. */
const MARGIN_MS = 300;

/** A fake engine: takes the lease, serves, renews, and stops in time. */
export class FakeEngine {
  static readonly history: Served[] = [];
  ended = false;
  readonly #apiUrl: string;
  readonly #token: string;
  readonly #engine: string;
  readonly #instance: string;
  #served: Served | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(apiUrl: string, token: string, { metadata }: RawEnginePod) {
    this.#apiUrl = apiUrl;
    this.#token = token;
    this.#engine = metadata.annotations['gwk.dev/engine']!;
    this.#instance = metadata.labels['gwk.dev/instance-id']!;
  }

  start(): void {
    void this.#renew();
  }

  /** Like SIGTERM. */
  async stop(): Promise<void> {
    const held = this.#served !== null;
    this.kill();
    if (held) await this.#call('release');
  }

  /** Like SIGKILL. */
  kill(): void {
    this.ended = true;
    clearTimeout(this.#timer);
    this.#close();
  }

  async #renew(): Promise<void> {
    const before = performance.now();
    const { code, leaseMs } = await this.#call(this.#served ? 'renew' : 'acquire');
    if (this.ended) return;
    if (code === 200) {
      this.#serveUntil(before + leaseMs - MARGIN_MS);
    } else if (code >= 400 && this.#served) return this.kill();
    // Like a real engine it pauses when its lease has lapsed, and takes it again.
    if (this.#served && performance.now() > this.#served.to) this.#close();
    this.#timer = setTimeout(() => void this.#renew(), RENEW_MS);
  }

  #serveUntil(to: number): void {
    if (this.#served) {
      this.#served.to = to;
      return;
    }
    const [instance, engine, from] = [this.#instance, this.#engine, performance.now()];
    this.#served = { instance, engine, from, to, open: true };
    FakeEngine.history.push(this.#served);
  }

  #close(): void {
    if (!this.#served) return;
    this.#served.to = Math.min(this.#served.to, performance.now());
    this.#served.open = false;
    this.#served = null;
  }

  async #call(route: string): Promise<{ code: number; leaseMs: number }> {
    try {
      const response = await fetch(new URL(`/engine/${route}`, this.#apiUrl), {
        method: 'POST',
        headers: { authorization: `Bearer ${this.#token}` },
        body: JSON.stringify({ pod: this.#engine }),
        signal: AbortSignal.timeout(400),
      });
      const { lease_ms: leaseMs = 0 } = (await response.json()) as { lease_ms?: number };
      return { code: response.status, leaseMs };
    } catch {
      return { code: 0, leaseMs: 0 };
    }
  }
}

/** Pairs that served one instance at the same time; must be empty. */
export function overlaps(history: Served[]): [Served, Served][] {
  return history.flatMap((one, at) =>
    history
      .slice(at + 1)
      .filter(({ instance, from, to }) => instance === one.instance && from < one.to && one.from < to)
      .map((other): [Served, Served] => [one, other]),
  );
}
