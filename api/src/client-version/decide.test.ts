import { chooseClientVersion, type ClientVersionFacts, type KnownVersion, type Question } from './decide.js';

const OLD = '2.3000.1043000000';
const BUNDLED = '2.3000.1043857760';
const FORMER = '2.3000.1044000000';
const SERVED = '2.3000.1044142122';
const PIN = '2.3000.1045000000';
const NOW = 1_000_000_000;

const proven = (version: string, refusedAt: number | null = null): KnownVersion => ({
  version,
  acceptedAt: 500,
  refusedAt,
});
const refused = (version: string): KnownVersion => ({ version, acceptedAt: 500, refusedAt: 600 });
/** Without a result. */
const untested = (version: string): KnownVersion => ({ version, acceptedAt: null, refusedAt: null });
const never = (version: string): KnownVersion => ({ version, acceptedAt: null, refusedAt: 600 });

const NOTHING: ClientVersionFacts = {
  pinned: null,
  served: SERVED,
  bundled: BUNDLED,
  known: [],
  trial: null,
  isReadDue: false,
};

interface Case {
  facts?: Partial<ClientVersionFacts>;
  asked?: Partial<Question>;
  version: string | null;
  isTrial?: boolean;
  isExpected?: boolean;
}

const trialBy = (instanceId: string, ageMs: number, version = SERVED) => ({
  version,
  instanceId,
  at: NOW - ageMs,
});

const CASES: Record<string, Case> = {
  'nothing is known: the bundled one': { facts: { served: null }, version: BUNDLED, isTrial: true },
  'a served version that nobody has tried: one instance tries it': { version: SERVED, isTrial: true },
  'a trial of another instance: the bundled one': {
    facts: { trial: trialBy('other', 1_000) },
    version: BUNDLED,
  },
  'the own trial: again, without prolonging it': {
    facts: { trial: trialBy('me', 1_000) },
    version: SERVED,
  },
  'a trial without a result for ten minutes: another one': {
    facts: { trial: trialBy('other', 601_000), known: [proven(BUNDLED)] },
    version: SERVED,
    isTrial: true,
  },
  'a trial of an earlier version: a new one': {
    facts: { trial: trialBy('other', 1_000, OLD) },
    version: SERVED,
    isTrial: true,
  },
  'a served version that logs in: all follow': { facts: { known: [proven(SERVED)] }, version: SERVED },
  'a served version that is refused: back to the former one that was not': {
    facts: { known: [proven(OLD), never(SERVED), never(BUNDLED)] },
    version: OLD,
  },
  'the bundled one is refused here and the served one is being tried: wait': {
    facts: { trial: trialBy('other', 1_000), known: [refused(BUNDLED)] },
    asked: { event: 'refused', version: BUNDLED, refused: [BUNDLED] },
    version: null,
    isExpected: true,
  },
  'the same in a pairing: try it too': {
    facts: { trial: trialBy('other', 1_000), known: [refused(BUNDLED)] },
    asked: { event: 'refused', version: BUNDLED, refused: [BUNDLED], pairing: true },
    version: SERVED,
  },
  'the same after 20 s without a result: try it too': {
    facts: { trial: trialBy('other', 21_000), known: [refused(BUNDLED)] },
    asked: { event: 'waiting', refused: [BUNDLED] },
    version: SERVED,
  },
  'waiting until the trial has ended': {
    facts: { trial: trialBy('other', 1_000), known: [proven(SERVED), refused(BUNDLED)] },
    asked: { event: 'waiting', refused: [BUNDLED] },
    version: SERVED,
  },
  'refused with the newest here, and not elsewhere: the former one': {
    facts: { known: [proven(SERVED), proven(FORMER), proven(OLD), proven(BUNDLED)] },
    asked: { event: 'refused', version: SERVED, refused: [SERVED] },
    version: FORMER,
  },
  'refused with both candidates: nothing, although an older one has logged in': {
    facts: { known: [proven(SERVED), proven(FORMER), proven(OLD), proven(BUNDLED)] },
    asked: { event: 'refused', version: FORMER, refused: [SERVED, FORMER] },
    version: null,
  },
  'a version that was refused elsewhere is the last resort': {
    facts: { known: [never(SERVED), refused(BUNDLED)] },
    asked: { event: 'refused', version: BUNDLED, refused: [BUNDLED] },
    version: SERVED,
  },
  'all are refused here: nothing after a refusal': {
    facts: { known: [never(SERVED), refused(BUNDLED)] },
    asked: { event: 'refused', version: SERVED, refused: [BUNDLED, SERVED] },
    version: null,
  },
  'all are refused here: nothing while waiting': {
    facts: { known: [never(SERVED), refused(BUNDLED)] },
    asked: { event: 'waiting', refused: [BUNDLED, SERVED] },
    version: null,
  },
  'all are refused here: the newest once the delay has ended': {
    facts: { known: [never(SERVED), refused(BUNDLED)] },
    asked: { refused: [BUNDLED, SERVED] },
    version: SERVED,
  },
  'the served version is refused to the instance that tried it: each waiting one may try it once': {
    facts: { known: [never(SERVED), refused(FORMER)], trial: trialBy('other', 1_000) },
    asked: { event: 'waiting', target: 'earlier' },
    version: SERVED,
  },
  'a version that logged in is refused: older ones have no chance': {
    facts: { known: [refused(FORMER), proven(OLD), proven(BUNDLED)], trial: trialBy('other', 1_000) },
    asked: { event: 'waiting', target: 'earlier' },
    version: null,
    isExpected: true,
  },
  'the same, and an older one has logged in since': {
    facts: {
      known: [refused(FORMER), { version: OLD, acceptedAt: 700, refusedAt: null }, proven(BUNDLED)],
      trial: trialBy('other', 1_000),
    },
    asked: { event: 'waiting', target: 'earlier' },
    version: OLD,
  },
  'a version that never logged in is refused: older ones are not affected': {
    facts: { known: [never(SERVED), proven(FORMER)] },
    version: FORMER,
  },
  'a read is due after a refusal: wait in place of a last resort': {
    facts: { known: [refused(SERVED), proven(BUNDLED)], isReadDue: true },
    asked: { event: 'refused', version: SERVED, refused: [SERVED] },
    version: null,
    isExpected: true,
  },
  'no read is due after a refusal: the last resort': {
    facts: { known: [refused(SERVED), proven(BUNDLED)] },
    asked: { event: 'refused', version: SERVED, refused: [SERVED] },
    version: BUNDLED,
  },
  'a read is due when the delay has ended: connect all the same': {
    facts: { known: [refused(SERVED)], isReadDue: true },
    asked: { refused: [SERVED] },
    version: BUNDLED,
  },
  'refusals under an earlier target do not count': {
    facts: { known: [proven(SERVED)] },
    asked: { event: 'waiting', refused: [SERVED], target: 'earlier' },
    version: SERVED,
  },
  'the refusal of this moment counts under a new target': {
    facts: { known: [refused(SERVED), refused(BUNDLED)] },
    asked: { event: 'refused', version: SERVED, refused: [SERVED, BUNDLED], target: 'earlier' },
    version: BUNDLED,
  },
  'a bundled version newer than the served one is tried too': {
    facts: { served: OLD, known: [proven(OLD)] },
    version: BUNDLED,
    isTrial: true,
  },
  'a bundled version that an engine states is not tried for others': {
    facts: { known: [proven(SERVED)] },
    asked: { bundled: '2.3000.1299999999' },
    version: '2.3000.1299999999',
  },
  'a new engine of an instance that waits, and nothing has changed: its delay holds': {
    facts: { known: [refused(SERVED), refused(BUNDLED)] },
    asked: { event: 'waiting', target: null },
    version: null,
  },
  'the same with a bundled version that nobody has tried': {
    facts: { known: [refused(SERVED)], trial: null },
    asked: { event: 'waiting', target: null, bundled: PIN },
    version: PIN,
  },
  'the same with a pinned version that is refused': {
    facts: { pinned: refused(PIN) },
    asked: { event: 'waiting', target: null },
    version: null,
  },
  'the same with the setting bundled': {
    facts: { known: [refused(BUNDLED)] },
    asked: { event: 'waiting', target: null, setting: 'bundled' },
    version: null,
  },
  'the setting bundled ignores the served one': {
    facts: { known: [proven(SERVED)] },
    asked: { setting: 'bundled' },
    version: BUNDLED,
  },
  'the setting bundled knows nothing else after a refusal': {
    asked: { setting: 'bundled', event: 'refused', version: BUNDLED, refused: [BUNDLED] },
    version: null,
  },
  'the setting bundled repeats after the delay': {
    asked: { setting: 'bundled', refused: [BUNDLED] },
    version: BUNDLED,
  },
  'a pinned version wins over the served one': {
    facts: { pinned: untested(PIN), known: [proven(SERVED)] },
    version: PIN,
  },
  'a pinned version wins over the setting bundled': {
    facts: { pinned: untested(PIN) },
    asked: { setting: 'bundled' },
    version: PIN,
  },
  'a pinned version that is refused here: nothing else': {
    facts: { pinned: untested(PIN), known: [proven(SERVED)] },
    asked: { event: 'refused', version: PIN, refused: [PIN] },
    version: null,
  },
  'a pinned version that was refused under an earlier target: while waiting': {
    facts: { pinned: untested(PIN) },
    asked: { event: 'waiting', refused: [PIN], target: 'earlier' },
    version: PIN,
  },
};

test.each(Object.entries(CASES))(
  '%s',
  (_, { facts, asked, version, isTrial = false, isExpected = false }) => {
    const all: ClientVersionFacts = { ...NOTHING, ...facts };
    const question: Question = {
      instanceId: 'me',
      event: 'connecting',
      version: null,
      bundled: BUNDLED,
      setting: 'auto',
      pairing: false,
      refused: [],
      target: `${all.pinned?.version ?? ''}/${all.served ?? ''}`,
      ...asked,
    };
    expect(chooseClientVersion(all, question, NOW)).toEqual({ version, isTrial, isExpected });
  },
);
