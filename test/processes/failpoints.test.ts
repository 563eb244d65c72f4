import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FAILPOINTS, RECEIVING_FAILPOINTS, type Failpoint } from '@gwk/core/process/failpoints';
import type { AcceptedMessageOut } from '@gwk/core/resources/message';
import type { EventOut } from '@gwk/api/resources/event';
import type { Gateway } from '../support/gateway/gateway.js';
import { uploadFile } from '../support/gateway/customer.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { toChatId, sendTraffic } from '../support/gateway/traffic.js';
import { checkTraffic, report, settle, type TrafficReport } from '../support/gateway/check-traffic.js';
import { writeAsPeople, listChats } from '../support/instance/conversations.js';
import { openInstanceStage, type InstanceStage } from '../support/instance/stage.js';
import { findFaults } from '../support/instance/check.js';
import { Recorder } from '../support/instance/recorder.js';
import { ROOT, type Program } from '../support/program.js';
import { until } from '../support/wait.js';

/**
 * Every failure window of core/src/process/failpoints.ts: a process kills itself inside it, once. Windows whose proof is what
 * left for the network, byte by byte, use sandbox instances. Windows of the Signal sessions use the real protocol.
 */

/** @returns whether the process that was to die at the failpoint has died since this call */
function watchFor(name: Failpoint, gateway: Gateway): () => boolean {
  if (name.startsWith('engine.')) {
    const before = gateway.engines().map(({ pid }) => pid);
    return () => gateway.engines().every(({ pid }) => !before.includes(pid));
  }
  const program: Program = name.startsWith('api.') ? gateway.apis[0]! : gateway.workers[0]!;
  const before = program.deaths.length;
  return () => program.deaths.slice(before).some(({ signal }) => signal === 'SIGKILL');
}

/** Arms the failpoint when `count` messages have been accepted, and waits for the death after `work`. */
function killAt(name: Failpoint, count: number, gateway: Gateway) {
  let died: (() => boolean) | undefined;
  return {
    onAccepted: (accepted: number): void => {
      if (accepted !== count) return;
      died = watchFor(name, gateway);
      gateway.arm(name);
    },
    hasDied: () => until(() => !gateway.isArmed(name) && died?.(), { what: `a process died at ${name}` }),
  };
}

const atLeastOne = (sum: string) => (verdict: TrafficReport) =>
  expect(verdict.sums[sum]).toBeGreaterThanOrEqual(1);

/** The window, and the trace that a process which died in it must leave. */
const WINDOWS: { name: Failpoint; sentence: string; trace: (verdict: TrafficReport) => void }[] = [
  {
    name: 'api.accept.after-commit',
    sentence: 'the API dies after the commit, before it notifies: the repeated post finds its own message',
    trace: atLeastOne('replayed answers'),
  },
  {
    name: 'api.accept.after-xadd',
    sentence: 'the API dies after it notified, before the 202: the repeated post finds its own message',
    trace: atLeastOne('replayed answers'),
  },
  {
    name: 'engine.after-send',
    sentence: 'the engine dies after the stanza, before the ack: the same id and bytes go again',
    trace: atLeastOne('re-sent stanzas'),
  },
  {
    name: 'engine.before-outcome',
    sentence: 'the engine dies after the ack, before the outcome: the same id and bytes go again',
    trace: atLeastOne('re-sent stanzas'),
  },
  {
    name: 'worker.after-post',
    sentence: 'the worker dies after a post, before its row: the event is posted again',
    trace: ({ sums }) => expect(sums['webhook calls']).toBeGreaterThan(sums['events received']!),
  },
];

describe('a process dies during 100 sends of a sandbox instance', () => {
  const CONVERSATIONS = 5;
  const PER_CONVERSATION = 20;
  const SENDS = CONVERSATIONS * PER_CONVERSATION;
  const ARM_AT = 30;

  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage('failpoints');
  });
  afterAll(() => stage?.close());

  test.each(WINDOWS)('$name: $sentence', async ({ name, trace }) => {
    const { onAccepted, hasDied } = killAt(name, ARM_AT, stage.gateway);
    const traffic = await sendTraffic({
      clients: stage.customer.clients,
      instanceId: stage.instance.id,
      name,
      conversations: CONVERSATIONS,
      perConversation: PER_CONVERSATION,
      onAccepted,
    });
    await hasDied();
    await stage.gateway.ready();
    await settle(stage.witnesses);
    const verdict = await checkTraffic(traffic, stage.witnesses);
    report(name, verdict.sums);

    expect(verdict.faults).toEqual([]);
    expect(verdict.sums['left']).toBe(SENDS);
    expect(verdict.sums['ids on the network']).toBe(SENDS);
    trace(verdict);
  });

  test('engine.after-send: the engine dies after the frame of an album, and the next one repeats the same frame', async () => {
    const { gateway, customer, instance } = stage;
    const { id: media_id } = await uploadFile(gateway, customer, join(ROOT, 'examples/media/photo.jpg'));
    const hasDied = watchFor('engine.after-send', gateway);
    gateway.arm('engine.after-send');
    const to = '5511981237777';
    const file = { image: { media: { media_id } } };
    const body = { instance_id: instance.id, to, type: 'album', album: [file, file, file] };
    const { client } = customer;
    const frame = await client.expect<AcceptedMessageOut>(202, 'POST', '/v1/messages', { body });
    await until(() => !gateway.isArmed('engine.after-send') && hasDied(), { what: 'the engine has died' });
    await gateway.ready();
    const left = ({ id }: { id: string }) =>
      until(async () => (await client.message(id)).wa_message_id, { what: `${id} has left` });
    const ids = await Promise.all([frame, ...frame.items!].map(left));
    const stanzas = (await gateway.network.stanzasOf(instance.id)).filter(({ chat }) => chat.startsWith(to));
    expect([...new Set(stanzas.map(({ waMessageId }) => waMessageId))]).toEqual(ids);
    const frames = stanzas.filter(({ waMessageId }) => waMessageId === ids[0]);
    expect(frames.length).toBeGreaterThan(1);
    expect(new Set(frames.map(({ bytes }) => bytes)).size).toBe(1);
  });
});

const ENGINE_WINDOWS = [
  'engine.after-claim',
  'engine.before-send',
  'engine.after-send',
  'engine.before-outcome',
  'engine.after-outcome',
] as const;

test('every failpoint has a test in this file', () => {
  const tested = [...WINDOWS.map(({ name }) => name), ...ENGINE_WINDOWS, ...RECEIVING_FAILPOINTS];
  expect(new Set(tested)).toEqual(new Set(FAILPOINTS));
});

describe('the engine of an instance on the real protocol dies', () => {
  const PER_CHAT = 8;
  const ARM_AT = 12;

  let stage: InstanceStage;
  beforeAll(async () => {
    stage = await openInstanceStage('failpoints', { contacts: 4, groups: 2 });
  });
  afterAll(() => stage?.close());

  test.each(ENGINE_WINDOWS)(
    'the engine dies at %s during traffic both ways: phones read all once and in order, events report all once',
    async (name) => {
      const { gateway, customer, id, network } = stage;
      const chats = listChats(stage);
      const witness = new Recorder(stage);
      const { onAccepted, hasDied } = killAt(name, ARM_AT, gateway);
      const [traffic, written] = await Promise.all([
        sendTraffic({
          clients: customer.clients,
          instanceId: id,
          name,
          conversations: chats.length,
          recipients: chats.map(({ to }) => to),
          perConversation: PER_CHAT,
          onAccepted,
        }),
        writeAsPeople(stage, { name, perChat: PER_CHAT, perSecond: 40 }),
      ]);
      await hasDied();
      // An operator without memory of crashes starts the next engine at once.
      await gateway.operator.kill('SIGKILL');
      await gateway.ready();
      await stage.phone.isConnected();

      const mine = new Set([...traffic.byChat.values()].flat().map((accepted) => accepted.id));
      const texts = new Set([...traffic.byChat.values()].flat().map(({ text }) => text));
      const messages = async () =>
        (await customer.client.messages({ instance_id: id })).filter((m) => mine.has(m.id));
      const undelivered = async () => (await messages()).filter(({ status }) => status !== 'delivered');
      await until(async () => (await undelivered()).length === 0, {
        what: 'all messages are delivered',
        everyMs: 250,
      }).catch(async (error: unknown) => {
        const left = (await undelivered()).map(({ id: message, status, to }) => `${message} ${status} ${to}`);
        throw new Error(`${(error as Error).message}: ${left.join(', ')}`, { cause: error });
      });
      const ids = new Set([...written.values()].flat().map((one) => one.id));
      const events = () => customer.client.events({ instance_id: id });
      await until(
        async () =>
          (await events()).filter(({ data }) => ids.has(data['wa_message_id'] as string)).length >= ids.size,
        { what: 'all messages are reported', everyMs: 250 },
      );
      await witness.end();
      const arrivals = witness.arrivals.filter(({ text }) => text !== undefined && texts.has(text));
      report(name, {
        accepted: traffic.count,
        'shown by phones': arrivals.filter(({ fate }) => fate === 'shown').length,
        duplicates: arrivals.filter(({ fate }) => fate === 'repeated').length,
      });
      const accepted = new Map(chats.map(({ to }) => [to, traffic.byChat.get(toChatId(to))!]));
      const observed = {
        chats,
        accepted,
        written,
        arrivals,
        messages: await messages(),
        events: await events(),
      };
      expect(findFaults(observed)).toEqual([]);
      // One id on the network per message, even if it was sent twice.
      const idsOf = Map.groupBy(arrivals, ({ text }) => text);
      expect(idsOf.size).toBe(traffic.count);
      for (const [text, entries] of idsOf)
        expect([text, new Set(entries.map((entry) => entry.id)).size]).toEqual([text, 1]);
      expect(witness.askedAgain).toEqual([]);
      expect((await network.status()).violations).toEqual([]);
    },
  );
});

/**
 * The engine dies at critical moments of the ratchet and loses all its files. The next engine continues from the
 * database, and neither side notices.
 */
describe('the engine dies and loses its files', () => {
  let stage: InstanceStage;
  /** A folder where an engine could store files. */
  const files = mkdtempSync(join(tmpdir(), 'gwk-engine-files-'));

  beforeAll(async () => {
    const operator = { HOME: files, TMPDIR: files };
    stage = await openInstanceStage('windows', {
      contacts: 3,
      groups: 1,
      gateway: { settings: { operator } },
    });
  });
  afterAll(async () => {
    await stage?.close();
    rmSync(files, { recursive: true, force: true });
  });

  /** `act` kills the engine at the failpoint. Then its files are deleted, and another engine connects. */
  async function diesAt(name: Failpoint, act: () => Promise<unknown>): Promise<void> {
    const { gateway } = stage;
    const before = await gateway.engine();
    gateway.arm(name);
    await act();
    await until(() => !gateway.isArmed(name) && gateway.engines().every(({ pid }) => pid !== before.pid), {
      what: `the engine has died at ${name}`,
    });
    rmSync(files, { recursive: true });
    mkdirSync(files);
    // An operator without memory of crashes starts the next engine at once, every time.
    await gateway.operator.kill('SIGKILL');
    await stage.phone.isConnected();
  }

  const received = (): Promise<EventOut[]> =>
    stage.customer.client.events({ instance_id: stage.id, type: 'message.received' });

  const eventsOf = async (waMessageId: string) =>
    (await received()).filter(({ data }) => data['wa_message_id'] === waMessageId);

  /** No phone and no engine requested a message again, and no device was linked again. */
  async function expectUnnoticed(): Promise<void> {
    const { network, customer, id } = stage;
    const { violations, fates } = await network.status();
    expect(violations).toEqual([]);
    expect(fates).toMatchObject({ dropped: 0, unreadable: 0 });
    expect(await network.receipts({ type: 'retry' })).toEqual([]);
    expect(await customer.client.events({ instance_id: id, type: 'instance.paired' })).toHaveLength(1);
  }

  const CHATS = ['a contact', 'a group'];
  const addressOf = (kind: string) => {
    const [ana] = stage.contacts;
    const [group] = stage.groups;
    return kind === 'a contact' ? ana!.number : group!.jid;
  };
  const groupOption = (kind: string, chat: string) => (kind === 'a contact' ? {} : { group: chat });

  describe.each(CHATS)('with %s', (kind) => {
    const sends = async (text: string) => stage.customer.client.acceptedText(stage.id, addressOf(kind), text);
    const shows = (text: string) =>
      stage.contacts[0]!.receives({ text, ...groupOption(kind, addressOf(kind)) });

    test('the engine dies between the stanza and the rows stored after it: this message and the next are read', async () => {
      await sends(`first to ${kind}`);
      await shows(`first to ${kind}`);
      const last = `the last of an engine to ${kind}`;
      await diesAt('engine.after-send', () => sends(last));
      const { id } = await sends(`next to ${kind}`);
      await shows(`next to ${kind}`);
      expect(await stage.contacts[0]!.inbox({ text: last })).toHaveLength(1);
      await until(async () => (await stage.customer.client.message(id)).status === 'delivered', {
        what: 'the message is delivered',
      });
      await expectUnnoticed();
    });

    test('the engine dies after the outcome of a message is stored: the message is not sent again', async () => {
      const last = `stored before the engine died, to ${kind}`;
      await diesAt('engine.after-outcome', () => sends(last));
      await sends(`after the outcome to ${kind}`);
      await shows(`after the outcome to ${kind}`);
      const arrivals = await stage.network.received({ to: stage.contacts[0]!.number });
      expect(arrivals.filter(({ text }) => text === last).map(({ fate }) => fate)).toEqual(['shown']);
      await expectUnnoticed();
    });

    test.each(RECEIVING_FAILPOINTS)(
      'the engine dies at %s: one event reports the message, and the next is read',
      async (name) => {
        const [ana] = stage.contacts;
        const to = kind === 'a contact' ? stage.phone.number : addressOf(kind);
        let id = '';
        await diesAt(name, async () => {
          id = await ana!.writes(`at ${name} to ${kind}`, { to });
        });
        const next = await ana!.writes(`after ${name} to ${kind}`, { to });
        await until(async () => (await eventsOf(next)).length > 0, { what: 'the next is reported' });
        await stage.phone.hasTakenAll();
        expect(await eventsOf(id)).toHaveLength(1);
        expect(await eventsOf(next)).toHaveLength(1);
        expect((await eventsOf(id))[0]!.id < (await eventsOf(next))[0]!.id).toBe(true);
        await expectUnnoticed();
      },
    );
  });
});
