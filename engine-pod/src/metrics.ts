import { createRequire } from 'node:module';
import type * as client from 'prom-client';
import { INSTANCE_STATES, type InstanceState } from '@gwk/core/states';

// The parts of prom-client that are used, by their files: its index loads default metrics and cluster support, which
// would cost every engine 3 MB more.
const require = createRequire(import.meta.url);
const Registry = require('prom-client/lib/registry') as typeof client.Registry;
const Counter = require('prom-client/lib/counter') as typeof client.Counter;
const Gauge = require('prom-client/lib/gauge') as typeof client.Gauge;
const Histogram = require('prom-client/lib/histogram') as typeof client.Histogram;

/** Read when metrics are asked for. */
export interface MetricSources {
  state: () => InstanceState;
  held: () => number;
  leaseMsLeft: () => number;
  redisUp: () => boolean;
}

/** What an engine tells of itself to Prometheus; every series names the instance. */
export class EngineMetrics {
  readonly #registry = new Registry();
  readonly #concluded: client.Counter<'conclusion'>;
  readonly #seconds: client.Histogram;
  readonly #doubts: client.Counter;
  readonly #claims: client.Counter;
  readonly #writes: client.Histogram;

  constructor(instanceId: string, sources: MetricSources) {
    this.#registry.setDefaultLabels({ instance_id: instanceId });
    const registers = [this.#registry];
    this.#concluded = new Counter({
      name: 'gwk_engine_messages_total',
      help: 'Messages that left this engine, by how they ended here',
      labelNames: ['conclusion'],
      registers,
    });
    this.#seconds = new Histogram({
      name: 'gwk_engine_message_seconds',
      help: 'From the claim of a message to its conclusion',
      buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 120, 900],
      registers,
    });
    this.#doubts = new Counter({
      name: 'gwk_engine_doubts_total',
      help: 'Stanzas sent again because no answer came',
      registers,
    });
    this.#claims = new Counter({
      name: 'gwk_engine_claims_total',
      help: 'Claims that were answered',
      registers,
    });
    this.#writes = new Histogram({
      name: 'gwk_engine_session_write_seconds',
      help: 'Writes of the session (keys of many messages in one), until they are stored',
      buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
      registers,
    });
    this.#gauges(sources);
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  concluded(conclusion: string, ms: number): void {
    this.#concluded.inc({ conclusion });
    this.#seconds.observe(ms / 1000);
  }

  doubted(): void {
    this.#doubts.inc();
  }

  wroteSession(ms: number): void {
    this.#writes.observe(ms / 1000);
  }

  claimed(): void {
    this.#claims.inc();
  }

  #gauges(sources: MetricSources): void {
    this.#gauge('gwk_instance_connected', '1 while the number is connected', () =>
      sources.state() === 'connected' ? 1 : 0,
    );
    this.#gauge('gwk_engine_held_messages', 'Messages claimed and not yet settled', sources.held);
    this.#gauge('gwk_engine_lease_seconds', 'Until the socket closes unless the lease is renewed', () =>
      Math.round(sources.leaseMsLeft() / 1000),
    );
    this.#gauge('gwk_engine_redis_up', '1 while connected to Redis', () => (sources.redisUp() ? 1 : 0));
    this.#gauge('process_resident_memory_bytes', 'Resident memory', () => process.memoryUsage.rss());
    const states = new Gauge({
      name: 'gwk_instance_state',
      help: '1 for the state that the instance is in',
      labelNames: ['state'],
      registers: [this.#registry],
      collect() {
        for (const state of INSTANCE_STATES) this.set({ state }, state === sources.state() ? 1 : 0);
      },
    });
    states.set({ state: sources.state() }, 1);
  }

  #gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }
}
