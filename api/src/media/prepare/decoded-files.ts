import { newUuid } from '@gwk/core/ids/ids';
import type { Sealer } from '@gwk/core/crypto/encryption';
import type { Queryable } from '../../database/database.js';
import type { ToolAnswer } from '@gwk/core/decoder/jobs';
import type { Plan } from './rules.js';

/** Same content and same job: the same result. */
export interface DecodingKey {
  accountId: string;
  sha256: Buffer;
  plan: NonNullable<Plan>;
}

/** `convertedId`: the converted file of the message that was decoded; it is deleted with that message's content. */
export type DecodingResult = { refused: string } | { answer: ToolAnswer; convertedId: string | null };

const ANSWER_COLUMN = 'decoded_files.answer_sealed';
/** As long as the content of a sent message. */
const ANSWER_HOURS = 24;
/** Shorter, because a busy machine may have caused the refusal. */
const REFUSAL_HOURS = 1;

/** Results of decoders in Postgres, so that no worker decodes the same file again. */
export class DecodedFiles {
  /** Work in progress in this worker by key, the last of each. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(private readonly deps: { db: Queryable; sealer: Sealer }) {}

  /** Runs work with the same key one after the other, so that the second finds the result of the first. */
  async takeTurn<T>(key: DecodingKey, run: () => Promise<T>): Promise<T> {
    const name = [key.accountId, key.sha256.toString('hex'), nameOf(key.plan)].join(' ');
    const before = this.#turns.get(name)?.catch(() => undefined) ?? Promise.resolve();
    const work = before.then(run);
    this.#turns.set(name, work);
    try {
      return await work;
    } finally {
      if (this.#turns.get(name) === work) this.#turns.delete(name);
    }
  }

  async find({ accountId, sha256, plan }: DecodingKey): Promise<DecodingResult | null> {
    const { db, sealer } = this.deps;
    const [row] = await db.$queryRaw<
      { answer_sealed: Uint8Array | null; converted_id: string | null; refused: string | null }[]
    >`
      SELECT answer_sealed, converted_id, refused FROM decoded_files
      WHERE account_id = ${accountId}::uuid AND sha256 = ${sha256}::bytea AND plan = ${nameOf(plan)}
        AND expires_at > now()`;
    if (!row) return null;
    if (row.answer_sealed === null) return { refused: row.refused! };
    const answer = sealer.openJson(accountId, ANSWER_COLUMN, row.answer_sealed) as ToolAnswer;
    return { answer, convertedId: row.converted_id };
  }

  async keep({ accountId, sha256, plan }: DecodingKey, result: DecodingResult): Promise<void> {
    const { db, sealer } = this.deps;
    const isRefused = 'refused' in result;
    const sealed = isRefused ? null : sealer.sealJson(accountId, ANSWER_COLUMN, result.answer);
    await db.$executeRaw`
      INSERT INTO decoded_files (id, account_id, sha256, plan, answer_sealed, converted_id, refused, expires_at)
      VALUES (${newUuid()}::uuid, ${accountId}::uuid, ${sha256}::bytea, ${nameOf(plan)}, ${sealed}::bytea,
        ${isRefused ? null : result.convertedId}::uuid, ${isRefused ? result.refused : null},
        now() + ${isRefused ? REFUSAL_HOURS : ANSWER_HOURS}::integer * interval '1 hour')
      ON CONFLICT (account_id, sha256, plan) DO UPDATE
      SET answer_sealed = excluded.answer_sealed, converted_id = excluded.converted_id, refused = excluded.refused,
        expires_at = excluded.expires_at`;
  }
}

/** Example: `audio mp3 voice`. */
const nameOf = (plan: NonNullable<Plan>): string => Object.values(plan).join(' ');
