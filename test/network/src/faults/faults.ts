import { GOOD_LINE, type LineFaults } from '../transport/line.js';
import type { Node } from '../wire/nodes.js';
import { Versions } from './versions.js';

/** Replaces the normal answer to the next stanzas that match. */
export interface Rule {
  number?: string;
  /** `message`, or a query as `encrypt/get/key` (namespace/type/first child). */
  on: string;
  /** Only stanzas to this user (a phone number, a LID or a group id). */
  to?: string;
  /**
   * `lose`: the stanza never arrives. `silence`: it is handled, but not answered. A number: it is refused with that
   * error, and a refused message reaches nobody.
   */
  answer: 'lose' | 'silence' | number;
  /** Number of matches. Unlimited by default. */
  times?: number;
}

/** How the network refuses a phone number at login and disconnects it. */
export interface Refusal {
  reason: number;
  /** Code of a temporary ban, 101 to 106. */
  code?: number;
  /** End of the ban in ms since the epoch. */
  until?: number;
  location?: string;
}

export class Faults {
  readonly #lines = new Map<string, Partial<LineFaults>>();
  #rules: Rule[] = [];
  readonly #refusals = new Map<string, Refusal>();
  /**
   * Restricted phone numbers and the end of their restriction. They may not write to people who have not written to
   * them.
   */
  readonly #restricted = new Map<string, number>();
  /** Closes every connection at once: the network is unreachable. */
  outage = false;
  readonly versions = new Versions();

  line(number: string | undefined): LineFaults {
    const all = this.#lines.get('*');
    const own = number === undefined ? undefined : this.#lines.get(number);
    return all || own ? { ...GOOD_LINE, ...all, ...own } : GOOD_LINE;
  }

  /** Sets the faults of the line of a phone number, or of all ('*'). */
  setLine(number: string, faults: Partial<LineFaults> | undefined): void {
    if (faults === undefined) this.#lines.delete(number);
    else this.#lines.set(number, { ...this.#lines.get(number), ...faults });
  }

  addRule(rule: Rule): void {
    this.#rules.push({ ...rule });
  }

  clearRules(): void {
    this.#rules = [];
  }

  /** Returns the answer that a rule sets for this stanza, and counts the match. */
  answerTo(on: string, number: string | undefined, stanza: Node): Rule['answer'] | undefined {
    const rule = this.#rules.find(
      (one) =>
        one.on === on &&
        (one.number === undefined || one.number === number) &&
        (one.to === undefined || (stanza.attrs.to ?? '').split(/[@:]/)[0] === one.to.split(/[@:]/)[0]),
    );
    if (!rule) return undefined;
    if (rule.times !== undefined && --rule.times <= 0)
      this.#rules = this.#rules.filter((one) => one !== rule);
    return rule.answer;
  }

  refuse(number: string, refusal: Refusal | undefined): void {
    if (refusal) this.#refusals.set(number, refusal);
    else this.#refusals.delete(number);
  }

  refusal(number: string, now = Date.now()): Refusal | undefined {
    const refusal = this.#refusals.get(number);
    if (refusal?.until !== undefined && refusal.until <= now) {
      this.#refusals.delete(number);
      return undefined;
    }
    return refusal;
  }

  restrict(number: string, until: number | undefined): void {
    if (until === undefined) this.#restricted.delete(number);
    else this.#restricted.set(number, until);
  }

  restrictedUntil(number: string, now = Date.now()): number | undefined {
    const until = this.#restricted.get(number);
    return until !== undefined && until > now ? until : undefined;
  }
}
