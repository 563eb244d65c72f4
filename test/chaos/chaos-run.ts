import { cpSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventOut } from '@gwk/api/resources/event';
import { Receiver } from '../support/gateway/receiver.js';
import { toChatId, sendTraffic } from '../support/gateway/traffic.js';
import { findEventFaults, steadyFor } from '../support/gateway/check-traffic.js';
import { until } from '../support/wait.js';
import { injectFaults, type InjectedFault } from './chaos-faults.js';
import { planChaos } from '../support/instance/chaos-plan.js';
import { writeAsPeople, listChats } from '../support/instance/conversations.js';
import { openInstanceStage, type InstanceStage } from '../support/instance/stage.js';
import { timelineOf } from './timeline.js';
import { findFaults, type Fault, type Observations } from '../support/instance/check.js';
import { Recorder } from '../support/instance/recorder.js';

export interface ChaosOptions {
  seed: number;
  seconds: number;
  /**
   * Messages per second, each way. Under faults an instance sends about 9 messages per second. A higher rate
   * leaves a backlog that does not drain after the run.
   */
  perSecond: number;
}

export interface ChaosResult {
  sums: Record<string, number | string>;
  faults: Fault[];
  /** Logs and timelines for finding the causes. Empty without faults. */
  report: string;
}

const CONTACTS = 28;
const GROUPS = 6;
const KEEP = 200_000;
const PATH = '/all';
const SETTLE_MS = 150_000;
const QUIET_MS = 2_500;
const SHOWN_FAULTS = 12;
const SHOWN_TIMELINES = 4;

/**
 * Runs a gateway of its own under faults for `seconds`, waits until everything has settled, and checks the
 * result.
 */
export async function chaosRun(options: ChaosOptions): Promise<ChaosResult> {
  const receiver = await Receiver.start();
  let stage: InstanceStage | undefined;
  try {
    stage = await openInstanceStage(`chaos ${options.seed}`, {
      contacts: CONTACTS,
      groups: GROUPS,
      keep: KEEP,
      gateway: { apis: 2, ownPostgres: true, ownRedis: true },
    });
    return await new ChaosRun(stage, receiver, options).run();
  } finally {
    await stage?.close();
    await receiver.stop();
  }
}

class ChaosRun {
  readonly #stage: InstanceStage;
  readonly #receiver: Receiver;
  readonly #options: ChaosOptions;
  readonly #witness: Recorder;
  #endpointId = '';

  constructor(stage: InstanceStage, receiver: Receiver, options: ChaosOptions) {
    this.#stage = stage;
    this.#receiver = receiver;
    this.#options = options;
    this.#witness = new Recorder(stage);
  }

  async run(): Promise<ChaosResult> {
    const { seed, seconds, perSecond } = this.#options;
    const { client } = this.#stage.customer;
    const endpoint = await client.createWebhook(this.#receiver.url(PATH));
    this.#endpointId = endpoint.id;
    await this.#receiver.setSecret(PATH, endpoint.secret!);

    const chats = listChats(this.#stage);
    const perChat = Math.ceil((seconds * perSecond) / chats.length);
    const over = new AbortController();
    const [traffic, written, injected] = await Promise.all([
      sendTraffic({
        clients: this.#stage.customer.clients,
        instanceId: this.#stage.id,
        name: `out ${seed}`,
        conversations: chats.length,
        recipients: chats.map(({ to }) => to),
        perConversation: perChat,
        perSecond,
      }),
      writeAsPeople(this.#stage, { name: `seed ${seed}`, perChat, perSecond }),
      injectFaults(this.#stage, planChaos(seed, seconds * 1000), over.signal),
    ]).finally(() => over.abort());
    const ended = Date.now();
    const unsettled = await this.#settle();
    const settled = Date.now();
    await this.#witness.end();
    const accepted = new Map(chats.map(({ to }) => [to, traffic.byChat.get(toChatId(to)) ?? []]));
    const observed = await this.#observe({ chats, accepted, written });
    const faults = [
      ...unsettled,
      ...findFaults(observed),
      ...this.#witness.askedAgain.map(({ ids }) => ({ what: 'the engine requested it again', ids })),
      ...(await this.#faultsOfWebhooks(observed.events)),
      ...(await this.#faultsOfNumber(observed.events)),
    ];
    return {
      faults,
      report: faults.length === 0 ? '' : await this.#explain(faults, injected),
      sums: {
        faults: countsOf(injected),
        'accepted for sending': traffic.count,
        ...this.#sumsOfArrivals(),
        'repeated posts': traffic.repeatedPosts,
        'written to the phone number': [...written.values()].flat().length,
        'reported as events': observed.events.filter(({ type }) => type === 'message.received').length,
        'times the phone number was linked': observed.events.filter(({ type }) => type === 'instance.paired')
          .length,
        'seconds until all had settled': (settled - ended) / 1000,
      },
    };
  }

  #sumsOfArrivals(): Record<string, number> {
    const of = (fate: string) => this.#witness.arrivals.filter((arrival) => arrival.fate === fate);
    const shown = of('shown');
    return {
      'different messages shown by phones': new Set(shown.map(({ text }) => text)).size,
      'shown by phones, counting each group member': shown.length,
      'duplicates that phones do not show': of('repeated').length,
    };
  }

  /**
   * Waits until every message has its final status and every event and webhook is delivered. A timeout is a
   * fault.
   */
  async #settle(): Promise<Fault[]> {
    const { customer, phone, id: instance_id } = this.#stage;
    const { client } = customer;
    const wait = { everyMs: 250, timeoutMs: SETTLE_MS };
    const moving = async () => {
      const queries = ['queued', 'sending', 'sent'].map((status) =>
        client.anyMessage({ instance_id, direction: 'outbound', status }),
      );
      return (await Promise.all(queries)).includes(true);
    };
    const newest = steadyFor(QUIET_MS, () => client.newestEvent(instance_id));
    const steps: [string, () => Promise<boolean>][] = [
      ['every message has been delivered', async () => !(await moving())],
      [
        'the phone receives its pending messages',
        () => phone.hasTakenAll({ limitMs: SETTLE_MS }).then(() => true),
      ],
      ['no more events come', newest],
      [
        'no webhook delivery is pending',
        async () => (await client.deliveries(this.#endpointId, { status: 'pending' })).length === 0,
      ],
    ];
    const faults: Fault[] = [];
    for (const [what, done] of steps) {
      await until(done, { ...wait, what }).catch((error: Error) =>
        faults.push({ what: error.message, ids: [] }),
      );
    }
    return faults;
  }

  async #observe(known: Pick<Observations, 'chats' | 'accepted' | 'written'>): Promise<Observations> {
    const { customer, id: instance_id } = this.#stage;
    const [messages, events] = await Promise.all([
      customer.client.messages({ instance_id, direction: 'outbound' }),
      customer.client.events({ instance_id }),
    ]);
    return { ...known, messages, events, arrivals: this.#witness.arrivals };
  }

  /**
   * Every event about a message was posted, signed and as it is listed. Events from before the endpoint was
   * created were not.
   */
  async #faultsOfWebhooks(events: readonly EventOut[]): Promise<Fault[]> {
    const about = events.filter(({ type }) => type.startsWith('message.'));
    const calls = await this.#receiver.calls(PATH);
    return findEventFaults(about, calls).map((what) => ({ what, ids: [] }));
  }

  async #faultsOfNumber(events: readonly EventOut[]): Promise<Fault[]> {
    const { network, phone, running } = this.#stage;
    const { violations } = await network.status();
    const linked = events.filter(({ type }) => type === 'instance.paired').length;
    const devices = [...running.network.world.people.need(phone.number).companions.keys()];
    return [
      ...violations.map((violation) => ({ what: `protocol violation: ${violation}`, ids: [] })),
      ...(linked === 1 && devices.length === 1
        ? []
        : [{ what: `linked ${linked} times, with the devices ${devices.join(', ')}`, ids: [] }]),
    ];
  }

  async #explain(faults: readonly Fault[], injected: readonly InjectedFault[]): Promise<string> {
    const { seed, seconds, perSecond } = this.#options;
    const logs = mkdtempSync(join(tmpdir(), `gwk-chaos-${seed}-`));
    cpSync(this.#stage.gateway.folder, logs, {
      recursive: true,
      filter: (path) => !/\/(pg|redis)$/.test(path),
    });
    const ids = [...new Set(faults.flatMap((fault) => fault.ids))].slice(0, SHOWN_TIMELINES);
    const timelines = [];
    for (const id of ids) timelines.push(await timelineOf(this.#stage, id, injected));
    return [
      `seed ${seed}, ${seconds} s; repeat with: make chaos SEEDS=${seed} SECONDS=${seconds} PER_SECOND=${perSecond}; logs: ${logs}`,
      ...injected.map(({ what, from }) => `  ${new Date(from).toISOString().slice(11, 23)} ${what}`),
      `${faults.length} faults:`,
      ...faults.slice(0, SHOWN_FAULTS).map((fault) => `  ${fault.what} [${fault.ids.join(', ')}]`),
      'timelines:',
      ...timelines,
    ].join('\n');
  }
}

function countsOf(injected: readonly InjectedFault[]): string {
  const counts = new Map<string, number>();
  for (const { what } of injected) counts.set(what, (counts.get(what) ?? 0) + 1);
  return [...counts].map(([what, count]) => (count === 1 ? what : `${what} (${count} times)`)).join('; ');
}
