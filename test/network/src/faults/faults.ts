import { GOOD_LINE, type LineFaults } from '../transport/line.js';
import type { Node } from '../wire/nodes.js';

/** What the network answers instead of the ordinary, for the next stanzas that fit. */
export interface Rule {
  number?: string;
  /** `message`, or a query as `encrypt/get/key` (namespace/type/first child). */
  on: string;
  /** Only what is addressed to this jid's user (a number, a lid or a group id). */
  to?: string;
  /**
   * `lose`: as if it had never arrived. `silence`: done, but not answered. A number: refused with that error. A
   * refused message reaches nobody.
   */
  answer: 'lose' | 'silence' | number;
  /** How often; forever if absent. */
  times?: number;
}

/** How the network refuses a number at login, and cuts it off while it is connected. */
export interface Refusal {
  reason: number;
  /** Kind of a temporary ban, 101 to 106. */
  code?: number;
  /** When it ends by itself, in ms since the epoch. */
  until?: number;
  location?: string;
}

export class Faults {
  readonly #lines = new Map<string, Partial<LineFaults>>();
  #rules: Rule[] = [];
  readonly #refusals = new Map<string, Refusal>();
  /** Numbers that may not write to those who have not written to them, and until when. */
  readonly #restricted = new Map<string, number>();
  /** Connections are closed at once: the network is unreachable. */
  outage = false;
  /** Clients older than this are told so (405). */
  oldestVersion?: [number, number, number];

  line(number: string | undefined): LineFaults {
    const all = this.#lines.get('*');
    const own = number === undefined ? undefined : this.#lines.get(number);
    return all || own ? { ...GOOD_LINE, ...all, ...own } : GOOD_LINE;
  }

  /** Sets what is wrong with the line of a number, or of all ('*'). */
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

  /** The answer that is due for a stanza, counted off. */
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
