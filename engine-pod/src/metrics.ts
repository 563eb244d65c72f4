import { createRequire } from 'node:module';
import type * as client from 'prom-client';
import { InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import { ENGINE_METRICS } from '@gwk/core/metrics/engine';
import { withCollect, type Reading } from '@gwk/core/metrics/collect';
import { counter, gauge, type Metric } from '@gwk/core/metrics/metric';
import type { StateChange } from '@gwk/core/protocol/engine';
import { INSTANCE_STATES, type InstanceState } from '@gwk/core/states';

// Load the used parts of prom-client by file. Its index loads default metrics and cluster support, 3 MB per engine.
const require = createRequire(import.meta.url);
const Registry = require('prom-client/lib/registry') as typeof client.Registry;
const Counter = require('prom-client/lib/counter') as typeof client.Counter;
const Gauge = require('prom-client/lib/gauge') as typeof client.Gauge;
const Histogram = require('prom-client/lib/histogram') as typeof client.Histogram;

/** Same names as the default metrics of the other programs, which an engine does not load. */
const RESIDENT_MEMORY = gauge('process_resident_memory_bytes', 'Resident memory size in bytes.');
const CPU_SECONDS = counter('process_cpu_seconds_total', 'Total user and system CPU time spent in seconds.');
const STARTED_AT = gauge(
  'process_start_time_seconds',
  'Start time of the process since unix epoch in seconds.',
);

/** Sources that are read on each scrape. */
interface MetricSources {
  state: () => InstanceState;
  held: () => number;
  activeConversations: () => number;
  leaseMsLeft: () => number;
  redisUp: () => boolean;
  clientVersion: () => string | null;
}

/** The metrics of an engine. */
export class EngineMetrics {
  readonly #registry = new Registry();
  readonly #registers = [this.#registry];
  readonly #messages = new Counter({ ...ENGINE_METRICS.messages, registers: this.#registers });
  readonly #seconds = new Histogram({ ...ENGINE_METRICS.messageSeconds, registers: this.#registers });
  readonly resends = new Counter({ ...ENGINE_METRICS.resends, registers: this.#registers });
  readonly rateLimitPauses = new Counter({
    ...ENGINE_METRICS.rateLimitPauses,
    registers: this.#registers,
  });
  readonly claims = new Counter({ ...ENGINE_METRICS.claims, registers: this.#registers });
  readonly #connections = new Counter({ ...ENGINE_METRICS.connections, registers: this.#registers });
  readonly disconnections = new Counter({ ...ENGINE_METRICS.disconnections, registers: this.#registers });
  readonly clientVersionRefusals = new Counter({
    ...ENGINE_METRICS.clientVersionRefusals,
    registers: this.#registers,
  });
  readonly received = new Counter({ ...ENGINE_METRICS.received, registers: this.#registers });
  readonly ignored = new Counter({ ...ENGINE_METRICS.ignored, registers: this.#registers });
  readonly #sessionRefusals = new Counter({
    ...ENGINE_METRICS.sessionRefusals,
    registers: this.#registers,
  });
  readonly #storeSeconds = new Histogram({ ...ENGINE_METRICS.storeSeconds, registers: this.#registers });
  readonly #notifySeconds = new Histogram({ ...ENGINE_METRICS.notifySeconds, registers: this.#registers });

  /** @param instanceId null: the series do not name the instance */
  constructor(instanceId: string | null, sources: MetricSources) {
    this.#addInstanceGauges(instanceId === null ? {} : { instance_id: instanceId }, sources.state);
    this.#addGauge(ENGINE_METRICS.held, sources.held);
    this.#addGauge(ENGINE_METRICS.activeConversations, sources.activeConversations);
    this.#addGauge(ENGINE_METRICS.lease, () => Math.round(sources.leaseMsLeft() / 1000));
    this.#addGauge(ENGINE_METRICS.redisUp, () => (sources.redisUp() ? 1 : 0));
    this.#addClientVersion(sources.clientVersion);
    this.#addProcessMetrics();
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  finished(result: string, ms: number): void {
    this.#messages.inc({ result });
    this.#seconds.observe(ms / 1000);
  }

  /** @param notifiedAt by the clock of Redis, which may differ from this machine's */
  notified(notifiedAt: number): void {
    this.#notifySeconds.observe(Math.max(0, Date.now() - notifiedAt) / 1000);
  }

  stateChanged({ state, reason }: StateChange): void {
    if (state === 'connected') this.#connections.inc();
    if (state === 'disconnected') this.disconnections.inc({ reason: reason ?? 'unknown' });
    if (state === 'logged_out' || state === 'banned') this.disconnections.inc({ reason: state });
  }

  async timeStore(write: Promise<unknown>): Promise<void> {
    const began = performance.now();
    await write.catch((error: unknown) => {
      if (error instanceof InternalApiRefusal) this.#sessionRefusals.inc();
      throw error;
    });
    this.#storeSeconds.observe((performance.now() - began) / 1000);
  }

  #addInstanceGauges(own: { instance_id?: string }, state: MetricSources['state']): void {
    this.#addGauge(ENGINE_METRICS.connected, () => Number(state() === 'connected'), own);
    const states = () => Object.fromEntries(INSTANCE_STATES.map((each) => [each, Number(each === state())]));
    this.#addGauge(ENGINE_METRICS.state, states, own);
  }

  #addClientVersion(read: MetricSources['clientVersion']): void {
    new Gauge({
      ...ENGINE_METRICS.clientVersion,
      registers: this.#registers,
      collect() {
        this.reset();
        const version = read();
        if (version !== null) this.set({ version }, 1);
      },
    });
  }

  #addProcessMetrics(): void {
    this.#addGauge(RESIDENT_MEMORY, () => process.memoryUsage.rss());
    this.#addGauge(STARTED_AT, () => performance.timeOrigin / 1000);
    new Counter({
      ...CPU_SECONDS,
      registers: this.#registers,
      collect() {
        const { user, system } = process.cpuUsage();
        this.reset();
        this.inc((user + system) / 1e6);
      },
    });
  }

  #addGauge<Label extends string>(
    metric: Metric<Label>,
    read: () => Reading,
    labels?: Partial<Record<Label, string>>,
  ): void {
    new Gauge<Label>({ ...withCollect(metric, read, labels), registers: this.#registers });
  }
}
