import { SENDING_FAILPOINTS, type Failpoint } from '@gwk/core/failpoints';
import type { Program } from '../support/program.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { sendTraffic } from '../support/gateway/traffic.js';
import { judge, report, settle, type Verdict } from '../support/gateway/verdict.js';
import { until } from '../support/wait.js';

const CONVERSATIONS = 5;
const PER_CONVERSATION = 20;
const SENDS = CONVERSATIONS * PER_CONVERSATION;
/** The failpoint is armed when this many messages have been accepted. */
const ARM_AT = 30;

/** What each window is, and the trace that a process which died in it must leave. */
const WINDOWS: Record<
  (typeof SENDING_FAILPOINTS)[number],
  { sentence: string; trace?: (verdict: Verdict) => void }
> = {
  'api.accept.after-commit': {
    sentence: 'the API dies after the commit, before the doorbell: the repeated post finds its own message',
    trace: ({ sums }) => expect(sums['replayed answers']).toBeGreaterThanOrEqual(1),
  },
  'api.accept.after-xadd': {
    sentence: 'the API dies after the doorbell, before the 202: the repeated post finds its own message',
    trace: ({ sums }) => expect(sums['replayed answers']).toBeGreaterThanOrEqual(1),
  },
  'engine.after-claim': {
    sentence: 'the engine dies after a claim: the next one is granted what it held, before anything later',
  },
  'engine.before-send': {
    sentence: 'the engine dies before the stanza: the next one sends it under the id it had',
  },
  'engine.after-send': {
    sentence: 'the engine dies after the stanza, before the ack: the same id and bytes go again',
    trace: ({ sums }) => expect(sums['re-sent stanzas']).toBeGreaterThanOrEqual(1),
  },
  'engine.before-outcome': {
    sentence: 'the engine dies after the ack, before the outcome: the same id and bytes go again',
    trace: ({ sums }) => expect(sums['re-sent stanzas']).toBeGreaterThanOrEqual(1),
  },
  'engine.after-outcome': {
    sentence: 'the engine dies after the outcome, before it acknowledges the doorbell: nothing goes again',
  },
  'worker.after-post': {
    sentence: 'the worker dies after a post, before its row: the event is posted again',
    trace: ({ sums }) => expect(sums['webhook calls']).toBeGreaterThan(sums['events received']!),
  },
};

describe('a process killed inside a failure window, in the midst of 100 sends', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage('failpoints');
  }, 120_000);
  afterAll(() => stage?.close(), 60_000);

  /** The deaths by SIGKILL so far: those of programs are known to the harness, an engine's by its process. */
  function watchFor(name: Failpoint): () => boolean {
    const { gateway } = stage;
    if (name.startsWith('engine.')) {
      const before = gateway.engines().map(({ pid }) => pid);
      return () => gateway.engines().every(({ pid }) => !before.includes(pid));
    }
    const program: Program = name.startsWith('api.') ? gateway.apis[0]! : gateway.workers[0]!;
    const before = program.deaths.length;
    return () => program.deaths.slice(before).some(({ signal }) => signal === 'SIGKILL');
  }

  test.each(SENDING_FAILPOINTS.map((name) => ({ name, ...WINDOWS[name] })))(
    '$name: $sentence',
    async ({ name, trace }) => {
      let died: (() => boolean) | undefined;
      const traffic = await sendTraffic({
        clients: stage.customer.clients,
        instanceId: stage.instance.id,
        name,
        conversations: CONVERSATIONS,
        perConversation: PER_CONVERSATION,
        onAccepted: (count) => {
          if (count !== ARM_AT) return;
          died = watchFor(name);
          stage.gateway.arm(name);
        },
      });
      await until(() => !stage.gateway.isArmed(name) && died?.(), { what: `a process died at ${name}` });
      await stage.gateway.ready();
      await settle(stage.witnesses);
      const verdict = await judge(traffic, stage.witnesses);
      report(name, verdict.sums);

      expect(verdict.faults).toEqual([]);
      expect(verdict.sums['left']).toBe(SENDS);
      expect(verdict.sums['ids on the network']).toBe(SENDS);
      trace?.(verdict);
    },
    240_000,
  );
});
