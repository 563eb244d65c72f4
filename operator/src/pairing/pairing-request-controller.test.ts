import type { OperatorResponse } from '@gwk/core/protocol/operator';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import {
  PAIRING_ANNOTATION,
  type PairingView,
  type PairingRequest,
} from '@gwk/core/resources/pairing-request';
import { resource } from '@gwk/test/support/operator/build';
import { inFakeTime, type PassTime } from '@gwk/test/support/fake-time';
import { recordingLog } from '@gwk/test/support/operator/folder';
import { buildPairingView, PairingRequestController } from './pairing-request-controller.js';

/** Poll interval of the controller. */
const POLL_MS = 1_000;

const PAGE = 'https://gwk.example.org/console/acc_1/numbers/ins_1/pairing';

type Seen = OperatorResponse<'pair'>;
const request = (special: Partial<PairingRequest> = {}): PairingRequest => ({
  id: 'first',
  method: 'qr',
  phone: null,
  until: new Date(Date.now() + 60_000).toISOString(),
  ...special,
});
const seen = (special: Partial<Seen> = {}): Seen => ({
  state: 'pending_pair',
  open: true,
  code: null,
  code_expires_at: null,
  error: null,
  ...special,
});

describe('the published view', () => {
  const CASES: [sentence: string, seen: Partial<Seen>, expected: 'paired' | Partial<PairingView>][] = [
    ['has no code while the engine starts', {}, { code: null, error: null }],
    ['shows the current code', { code: '2@x', code_expires_at: null }, { code: '2@x', error: null }],
    ['shows why the session ended', { open: false, error: 'timeout' }, { code: null, error: 'timeout' }],
    ['reports a closed session', { open: false }, { code: null, error: 'the pairing was closed' }],
    ['ends once a phone has paired', { state: 'connecting', open: false }, 'paired'],
    ['ends for a banned instance, which is paired', { state: 'banned', open: false }, 'paired'],
    ['names the page for a passkey', { passkey: { page: PAGE } }, { code: null, passkey: { page: PAGE } }],
    ['shows a code for a logged-out instance', { state: 'logged_out', code: '2@y' }, { code: '2@y' }],
  ];
  test.each(CASES)('%s', (_, special, expected) => {
    const step = buildPairingView(request(), seen(special));
    if (expected === 'paired') expect(step).toBe('paired');
    else expect(step).toMatchObject({ view: { request: 'first', ...expected } });
  });
});

class Stage {
  now: Seen = seen();
  fails = 0;
  readonly opened: unknown[] = [];
  readonly shown: (PairingView | null)[] = [];
  /** Ids of removed requests. */
  readonly removed: string[] = [];
  readonly controller = new PairingRequestController({
    api: {
      pair: (_, open) => {
        if (this.fails-- > 0) return Promise.reject(new Error('no answer'));
        if (open) this.opened.push(open);
        return Promise.resolve(this.now);
      },
    },
    publish: (_, view) => {
      this.shown.push(view);
      return Promise.resolve();
    },
    remove: (_, { id }) => {
      this.removed.push(id);
      return Promise.resolve();
    },
    log: recordingLog([]),
  });

  sees(wanted: PairingRequest | null): void {
    const annotations: Record<string, string> = wanted
      ? { [PAIRING_ANNOTATION]: JSON.stringify(wanted) }
      : {};
    const given: InstanceResource = resource({}, { annotations });
    this.controller.observe({ key: 'default/shop', uid: given.metadata.uid }, given, 'the-id');
  }
}

describe('a pairing request', () => {
  const onStage = (work: (stage: Stage, pass: PassTime) => Promise<void>): (() => Promise<void>) =>
    inFakeTime(async (pass) => {
      const stage = new Stage();
      await work(stage, pass);
      await stage.controller.close();
    });

  test(
    'opens one session, publishes each code once, and removes the last when the phone has paired',
    onStage(async (stage, pass) => {
      stage.sees(request());
      stage.sees(request());
      await pass(POLL_MS);
      expect(stage.shown).toHaveLength(1);
      stage.now = seen({ code: '2@one' });
      await pass(POLL_MS);
      expect(stage.shown.at(-1)?.code).toBe('2@one');
      stage.now = seen({ code: '2@two' });
      await pass(POLL_MS);
      expect(stage.shown.at(-1)?.code).toBe('2@two');
      stage.now = seen({ state: 'connecting', open: false });
      await pass(POLL_MS);
      expect(stage.shown.at(-1)).toBeNull();
      expect(stage.opened).toEqual([{ method: 'qr', phone: null }]);
      expect(stage.shown.map((view) => view && view.code)).toEqual([null, '2@one', '2@two', null]);
    }),
  );

  test(
    'is removed when the phone has paired',
    onStage(async (stage, pass) => {
      stage.sees(request({ method: 'code', phone: '5511999990000' }));
      await pass(POLL_MS);
      expect(stage.removed).toEqual([]);
      stage.now = seen({ state: 'connecting', open: false });
      await pass(POLL_MS);
      expect(stage.removed).toEqual(['first']);
    }),
  );

  test(
    'is removed when it has expired, even if nobody served it',
    onStage(async (stage, pass) => {
      stage.sees(request({ until: new Date(Date.now() - 1).toISOString() }));
      await pass(1);
      expect([stage.opened, stage.removed]).toEqual([[], ['first']]);
    }),
  );

  test(
    'stays for the next operator when this one stops',
    onStage(async (stage, pass) => {
      stage.sees(request());
      await pass(POLL_MS);
      await stage.controller.close();
      expect(stage.removed).toEqual([]);
    }),
  );

  test(
    'is not served again once finished, but a new request is',
    onStage(async (stage, pass) => {
      stage.now = seen({ state: 'connecting', open: false });
      stage.sees(request());
      await pass(POLL_MS);
      expect(stage.shown).toHaveLength(1);
      stage.sees(request());
      stage.now = seen();
      stage.sees(request({ id: 'second', method: 'code', phone: '5511999990000' }));
      await pass(POLL_MS);
      expect(stage.opened[1]).toEqual({ method: 'code', phone: '5511999990000' });
    }),
  );

  test(
    'is replaced by a newer request',
    onStage(async (stage, pass) => {
      stage.now = seen({ code: '2@one' });
      stage.sees(request());
      await pass(POLL_MS);
      expect(stage.shown).toHaveLength(1);
      stage.sees(request({ id: 'second' }));
      await pass(POLL_MS);
      expect(stage.shown.at(-1)?.request).toBe('second');
      expect(stage.shown.map((view) => view && view.request)).toEqual(['first', null, 'second']);
    }),
  );

  test(
    'removes the published code when it is withdrawn',
    onStage(async (stage, pass) => {
      stage.now = seen({ code: '2@one' });
      stage.sees(request());
      await pass(POLL_MS);
      expect(stage.shown).toHaveLength(1);
      stage.sees(null);
      await pass(POLL_MS);
      expect(stage.shown.at(-1)).toBeNull();
    }),
  );

  test(
    'opens nothing after its `until`',
    onStage(async (stage, pass) => {
      stage.sees(request({ until: new Date(Date.now() - 1000).toISOString() }));
      await pass(POLL_MS);
      expect(stage.shown).toEqual([null]);
      expect(stage.opened).toEqual([]);
    }),
  );

  test(
    'is served for 10 minutes at most, whatever its `until`',
    onStage(async (stage, pass) => {
      stage.now = seen({ code: '2@one' });
      stage.sees(request({ until: '9999-01-01T00:00:00Z' }));
      await pass(600_000 - POLL_MS);
      expect(stage.shown).toHaveLength(1);
      await pass(POLL_MS);
      expect(stage.shown.at(-1)).toBeNull();
    }),
  );

  test(
    'ends with its resource, and so does the next request',
    onStage(async (stage, pass) => {
      stage.now = seen({ code: '2@one' });
      stage.sees(request());
      await pass(POLL_MS);
      expect(stage.shown).toHaveLength(1);
      stage.sees(request({ id: 'second' }));
      stage.controller.cancel(resource().metadata.uid);
      await pass(POLL_MS);
      expect(stage.shown.at(-1)).toBeNull();
      await stage.controller.close();
      expect(stage.opened).toHaveLength(1);
    }),
  );

  test(
    'ends when the finalizer of its resource is removed by hand',
    onStage(async (stage, pass) => {
      stage.now = seen({ code: '2@one' });
      stage.sees(request());
      await pass(POLL_MS);
      expect(stage.shown).toHaveLength(1);
      stage.controller.retainOnly(new Set([resource().metadata.uid]));
      stage.controller.retainOnly(new Set(['another']));
      await pass(POLL_MS);
      expect(stage.shown.at(-1)).toBeNull();
    }),
  );

  test(
    'is retried while the API is unavailable',
    onStage(async (stage, pass) => {
      stage.fails = 3;
      stage.sees(request());
      await pass(2 * POLL_MS);
      expect(stage.opened).toEqual([]);
      await pass(POLL_MS);
      expect(stage.opened).toHaveLength(1);
    }),
  );

  test(
    'publishes why its session ended, and opens no other',
    onStage(async (stage, pass) => {
      stage.now = seen({ open: false, error: 'timeout' });
      stage.sees(request());
      await pass(POLL_MS);
      expect(stage.shown).toEqual([expect.objectContaining({ error: 'timeout', code: null })]);
      await stage.controller.close();
      expect(stage.opened).toHaveLength(1);
    }),
  );

  test.each([
    ['is not JSON', 'pair me'],
    ['asks for a code without a phone', JSON.stringify(request({ method: 'code' }))],
    ['names an unknown method', JSON.stringify({ ...request(), method: 'telepathy' })],
  ])('is ignored if it %s', async (_, text) => {
    const stage = new Stage();
    const given = resource({}, { annotations: { [PAIRING_ANNOTATION]: text } });
    stage.controller.observe({ key: 'default/shop', uid: given.metadata.uid }, given, 'the-id');
    await stage.controller.close();
    expect([stage.opened, stage.shown]).toEqual([[], []]);
  });
});
