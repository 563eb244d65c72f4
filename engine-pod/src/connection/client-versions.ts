import { setTimeout as sleep } from 'node:timers/promises';
import { BUNDLED, type ClientVersionSetting } from '@gwk/core/client-version';
import type { CallBody, EngineResponse } from '@gwk/core/protocol/engine';
import type { Logger } from '@gwk/core/process/log';
import type { ClientVersionChooser } from '../driver/driver.js';

type Question = CallBody<'client-version'>;
type VersionAnswer = EngineResponse<'client-version'>;

interface ClientVersionOptions {
  setting: ClientVersionSetting;
  /** The instance was offline because of its version when this engine took over. */
  isWaiting: boolean;
  log: Logger;
  /** @throws if the API does not answer, or is of an earlier release */
  ask: (question: Question) => Promise<VersionAnswer>;
  countRefusal: (version: string) => void;
  wait?: (ms: number) => Promise<unknown>;
}

/** Most questions of a pairing while a worker reads the version. A person waits for the code. */
const PAIRING_TRIES = 5;

/**
 * The client versions of an instance: asks the API which one to announce, and reports how the network took it. It
 * remembers refused versions and states them with each question, so that the API offers each only once.
 */
export class ClientVersions implements ClientVersionChooser {
  readonly #options: ClientVersionOptions;
  readonly #refused = new Set<string>();
  #target: string | null = null;
  #isWaiting: boolean;
  #isExpected = false;
  /** Found while waiting, for the next connection. */
  #found: string | null = null;
  /** Version of the last connection attempt. */
  current: string | null = null;

  constructor(options: ClientVersionOptions) {
    this.#options = options;
    this.#isWaiting = options.isWaiting;
  }

  get isExpected(): boolean {
    return this.#isExpected;
  }

  async choose(pairing: boolean): Promise<string | null> {
    const known = this.#fixed ?? this.#found;
    if (known !== null) return this.#use(known);
    const answer = await this.#ask('connecting', null, pairing);
    return this.#use(answer ? answer.version : (this.current ?? BUNDLED.version));
  }

  async replaceRefused(version: string, pairing: boolean): Promise<string | null> {
    const { log, countRefusal } = this.#options;
    log.warn({ client_version: version }, 'the network refuses the client version');
    countRefusal(version);
    this.#refused.add(version);
    return this.#use(this.#fixed === null ? await this.#findReplacement(version, pairing) : null);
  }

  async #findReplacement(version: string, pairing: boolean): Promise<string | null> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#ask('refused', version, pairing);
      if (!answer || answer.version !== null) return answer?.version ?? null;
      if (!pairing || answer.retry_after_ms === null || attempt === PAIRING_TRIES) return null;
      await (this.#options.wait ?? sleep)(answer.retry_after_ms);
    }
  }

  confirm(version: string): void {
    this.#isWaiting = false;
    // The delay may have ended while it was asked for.
    this.#found = null;
    if (this.#fixed === null) void this.#ask('connected', version, false);
  }

  /** Asks again while the instance waits. Resolves to whether a connection may succeed now. */
  async findNew(): Promise<boolean> {
    if (!this.#isWaiting || this.#fixed !== null) return false;
    this.#found = (await this.#ask('waiting', null, false))?.version ?? null;
    return this.#found !== null;
  }

  /** The version of the setting. */
  get #fixed(): string | null {
    const { setting } = this.#options;
    return setting === 'auto' || setting === 'bundled' ? null : setting;
  }

  #use(version: string | null): string | null {
    this.#isWaiting = version === null;
    this.#found = null;
    if (version !== null) this.current = version;
    return version;
  }

  /** Null: the API has not answered. */
  async #ask(
    event: Question['event'],
    version: string | null,
    pairing: boolean,
  ): Promise<VersionAnswer | null> {
    const { ask, log, setting } = this.#options;
    const question: Question = {
      event,
      version,
      pairing,
      bundled: BUNDLED.version,
      setting: setting === 'bundled' ? 'bundled' : 'auto',
      refused: [...this.#refused],
      target: this.#target,
    };
    try {
      const answer = await ask(question);
      this.#noteTarget(answer.target, event === 'refused' ? version : null);
      this.#isExpected = answer.version === null && answer.retry_after_ms !== null;
      return answer;
    } catch (error) {
      log.info({ err: error, event }, 'the API has not named a client version');
      this.#isExpected = false;
      return null;
    }
  }

  /** Under a new target, everything but the refusal of this moment may be tried again. */
  #noteTarget(target: string, refusedNow: string | null): void {
    if (target === this.#target) return;
    this.#target = target;
    this.#refused.clear();
    if (refusedNow !== null) this.#refused.add(refusedNow);
  }
}
