import { parseJid } from '../wire/jids.js';
import type { Account } from './account.js';

/** Accounts on the network, by phone number and by LID. */
export class Directory {
  readonly #byNumber = new Map<string, Account>();
  readonly #byLid = new Map<string, Account>();

  add(account: Account): void {
    if (this.#byNumber.has(account.number)) throw new Error(`${account.number} is on the network already`);
    if (this.#byLid.has(account.lid)) throw new Error(`lid ${account.lid} is taken`);
    this.#byNumber.set(account.number, account);
    this.#byLid.set(account.lid, account);
  }

  remove(account: Account): void {
    this.#byNumber.delete(account.number);
    this.#byLid.delete(account.lid);
  }

  get(number: string): Account | undefined {
    return this.#byNumber.get(number);
  }

  need(number: string): Account {
    const account = this.#byNumber.get(number);
    if (!account) throw new Error(`${number} is not on the network`);
    return account;
  }

  byJid(jid: string | undefined): Account | undefined {
    const parsed = parseJid(jid);
    if (parsed?.server === 'lid') return this.#byLid.get(parsed.user);
    return parsed?.server === 's.whatsapp.net' ? this.#byNumber.get(parsed.user) : undefined;
  }

  /**
   * The account whose number differs from a typed one by the digit that the network ignores in a contact query: the
   * ninth digit in Brazil, 1 in Mexico. Argentine numbers are found with 9 only.
   */
  byOtherForm(typed: string): Account | undefined {
    const brazil = /^55([1-9][0-9])(9?)([6-9][0-9]{7})$/.exec(typed);
    if (brazil) return this.get(`55${brazil[1]!}${brazil[2] === '9' ? '' : '9'}${brazil[3]!}`);
    const mexico = /^52(1?)([0-9]{10})$/.exec(typed);
    return mexico ? this.get(`52${mexico[1] === '1' ? '' : '1'}${mexico[2]!}`) : undefined;
  }

  all(): Account[] {
    return [...this.#byNumber.values()];
  }

  /** Creates a LID that does not reveal the phone number. */
  static lidFor(number: string): string {
    let hash = 7n;
    for (const digit of number)
      hash = (hash * 1_000_003n + BigInt(digit.charCodeAt(0))) % 99_999_999_999_989n;
    return String(100_000_000_000_000n + hash);
  }
}
