import type { EngineRequest, EngineResponse } from '@gwk/core/protocol/engine';
import { cacheQuery } from '../database/cached-query.js';
import type { Database } from '../database/database.js';
import { fence } from '../fencing/fence.js';
import {
  chooseClientVersion,
  NO_CHOICE,
  buildTarget,
  type Choice,
  type ClientVersionFacts,
  type Question,
} from './decide.js';
import { readClientVersions, recordResult, takeTrial, toFacts, type StoredClientVersions } from './store.js';

/** A worker looks for a due read this often, and a read takes about a second. */
const ASK_AGAIN_MS = 2_000;
/** Engines that wait ask with each renewal of their lease, so thousands may ask at once. */
const FRESH = { freshMs: 1_000, timeoutMs: 5_000, maxAgeMs: 60_000 };

type Asked = EngineRequest<'client-version'>;
type Answer = EngineResponse<'client-version'>;

/** Events that report how the network took a version. */
const RESULTS: Partial<Record<Asked['event'], 'accepted' | 'refused'>> = {
  connected: 'accepted',
  refused: 'refused',
};

/** Answers engines which client version to announce. */
export class ClientVersionAnswers {
  readonly #readCached: () => Promise<StoredClientVersions | null>;

  constructor(private readonly db: Database) {
    this.#readCached = cacheQuery(() => readClientVersions(db), FRESH);
  }

  /** @throws RefusalError `fenced` or `gone` */
  async answer(instanceId: string, asked: Asked): Promise<Answer> {
    const { event, version } = asked;
    await fence(this.db, instanceId, asked);
    if (version !== null && event in RESULTS) await recordResult(this.db, version, RESULTS[event]!);
    const stored = await this.#read(event);
    const facts = toFacts(stored);
    const choice = await this.#choose(facts, { ...asked, instanceId });
    return {
      version: choice.version,
      target: buildTarget(facts),
      retry_after_ms: choice.version === null && choice.isExpected ? ASK_AGAIN_MS : null,
    };
  }

  async #read(event: Asked['event']): Promise<StoredClientVersions> {
    const mayBeOld = event === 'waiting' || event === 'connected';
    return (mayBeOld ? await this.#readCached() : null) ?? readClientVersions(this.db);
  }

  async #choose(facts: ClientVersionFacts, asked: Question): Promise<Choice> {
    if (asked.event === 'connected') return NO_CHOICE;
    const choice = chooseClientVersion(facts, asked, Date.now());
    if (!choice.isTrial || (await takeTrial(this.db, choice.version!, asked, facts.trial))) return choice;
    // Another instance was faster.
    const changed = toFacts(await readClientVersions(this.db));
    const second = chooseClientVersion(changed, asked, Date.now());
    const isLost = second.isTrial && changed.trial?.instanceId !== asked.instanceId;
    return isLost ? { ...NO_CHOICE, isExpected: true } : second;
  }
}
