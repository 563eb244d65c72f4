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

/** How often the desk looks. */
const POLL_MS = 1_000;

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

describe('what there is to show', () => {
  const CASES: [sentence: string, seen: Partial<Seen>, expected: 'paired' | Partial<PairingView>][] = [
    ['nothing yet while the engine starts', {}, { code: null, error: null }],
    ['the code on display', { code: '2@x', code_expires_at: null }, { code: '2@x', error: null }],
    ['why the session ended', { open: false, error: 'timeout' }, { code: null, error: 'timeout' }],
    ['that somebody closed it', { open: false }, { code: null, error: 'the pairing was closed' }],
    ['nothing once a phone has paired', { state: 'connecting', open: false }, 'paired'],
    ['nothing of a number that is banned, which is a paired one', { state: 'banned', open: false }, 'paired'],
    ['a code for a number that was logged out', { state: 'logged_out', code: '2@y' }, { code: '2@y' }],
  ];
  test.each(CASES)('%s', (_, special, expected) => {
    const step = buildPairingView(wish(), seen(special));
    if (expected === 'paired') expect(step).toBe('paired');
    else expect(step).toMatchObject({ view: { wish: 'first', ...expected } });
  });
});

class Stage {
  now: Seen = seen();
  fails = 0;
  readonly opened: unknown[] = [];
  readonly shown: (PairingView | null)[] = [];
  readonly desk = new PairingRequestController({
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
    log: recordingLog([]),
  });

  sees(wanted: PairingRequest | null): void {
    const annotations: Record<string, string> = wanted
      ? { [PAIRING_ANNOTATION]: JSON.stringify(wanted) }
      : {};
    const given: InstanceResource = resource({}, { annotations });
    this.desk.observe({ key: 'default/shop', uid: given.metadata.uid }, given, 'the-id');
  }
}

describe('a wish on a resource', () => {
  const onStage = (work: (stage: Stage, pass: PassTime) => Promise<void>): (() => Promise<void>) =>
    inFakeTime(async (pass) => {
      const stage = new Stage();
      await work(stage, pass);
      await stage.desk.close();
    });

  test(
    'opens one session, shows each code once, and takes the last down when the phone has paired',
    onStage(async (stage, pass) => {
      stage.sees(wish());
      stage.sees(wish());
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
    'that is abort is not served again, another one is',
    onStage(async (stage, pass) => {
      stage.now = seen({ state: 'connecting', open: false });
      stage.sees(wish());
      await pass(POLL_MS);
      expect(stage.shown).toHaveLength(1);
      stage.sees(wish());
      stage.now = seen();
      stage.sees(wish({ id: 'second', method: 'code', phone: '5511999990000' }));
      await pass(POLL_MS);
      expect(stage.opened[1]).toEqual({ method: 'code', phone: '5511999990000' });
    }),
  );

  test(
    'that is replaced by another gives way to it',
    onStage(async (stage, pass) => {
      stage.now = seen({ code: '2@one' });
      stage.sees(wish());
      await pass(POLL_MS);
      expect(stage.shown).toHaveLength(1);
      stage.sees(wish({ id: 'second' }));
      await pass(POLL_MS);
      expect(stage.shown.at(-1)?.wish).toBe('second');
      expect(stage.shown.map((view) => view && view.wish)).toEqual(['first', null, 'second']);
    }),
  );

  test(
    'that is taken back takes down what was shown',
    onStage(async (stage, pass) => {
      stage.now = seen({ code: '2@one' });
      stage.sees(wish());
      await pass(POLL_MS);
      expect(stage.shown).toHaveLength(1);
      stage.sees(null);
      await pass(POLL_MS);
      expect(stage.shown.at(-1)).toBeNull();
    }),
  );

  test(
    'whose time is abort opens nothing',
    onStage(async (stage, pass) => {
      stage.sees(wish({ until: new Date(Date.now() - 1000).toISOString() }));
      await pass(POLL_MS);
      expect(stage.shown).toEqual([null]);
      expect(stage.opened).toEqual([]);
    }),
  );

  test(
    'is served for ten minutes at most, whatever it says',
    onStage(async (stage, pass) => {
      stage.now = seen({ code: '2@one' });
      stage.sees(wish({ until: '9999-01-01T00:00:00Z' }));
      await pass(600_000 - POLL_MS);
      expect(stage.shown).toHaveLength(1);
      await pass(POLL_MS);
      expect(stage.shown.at(-1)).toBeNull();
    }),
  );

  test(
    'goes with its resource, and so does the one that was to follow',
    onStage(async (stage, pass) => {
      stage.now = seen({ code: '2@one' });
      stage.sees(wish());
      await pass(POLL_MS);
      expect(stage.shown).toHaveLength(1);
      stage.sees(wish({ id: 'second' }));
      stage.desk.cancel(resource().metadata.uid);
      await pass(POLL_MS);
      expect(stage.shown.at(-1)).toBeNull();
      await stage.desk.close();
      expect(stage.opened).toHaveLength(1);
    }),
  );

  test(
    'goes with a resource that was let go of by force',
    onStage(async (stage, pass) => {
      stage.now = seen({ code: '2@one' });
      stage.sees(wish());
      await pass(POLL_MS);
      expect(stage.shown).toHaveLength(1);
      stage.desk.cancelAllBut(new Set([resource().metadata.uid]));
      stage.desk.cancelAllBut(new Set(['another']));
      await pass(POLL_MS);
      expect(stage.shown.at(-1)).toBeNull();
    }),
  );

  test(
    'while the API is away is tried again',
    onStage(async (stage, pass) => {
      stage.fails = 3;
      stage.sees(wish());
      await pass(2 * POLL_MS);
      expect(stage.opened).toEqual([]);
      await pass(POLL_MS);
      expect(stage.opened).toHaveLength(1);
    }),
  );

  test(
    'of a session that ended tells why, and opens no other',
    onStage(async (stage, pass) => {
      stage.now = seen({ open: false, error: 'timeout' });
      stage.sees(wish());
      await pass(POLL_MS);
      expect(stage.shown).toEqual([expect.objectContaining({ error: 'timeout', code: null })]);
      await stage.desk.close();
      expect(stage.opened).toHaveLength(1);
    }),
  );

  test.each([
    ['is not JSON', 'pair me'],
    ['asks for a code without the phone', JSON.stringify(wish({ method: 'code' }))],
    ['names a method that there is not', JSON.stringify({ ...wish(), method: 'telepathy' })],
  ])('that %s is none', async (_, text) => {
    const stage = new Stage();
    const given = resource({}, { annotations: { [PAIRING_ANNOTATION]: text } });
    stage.desk.observe({ key: 'default/shop', uid: given.metadata.uid }, given, 'the-id');
    await stage.desk.close();
    expect([stage.opened, stage.shown]).toEqual([[], []]);
  });
});
