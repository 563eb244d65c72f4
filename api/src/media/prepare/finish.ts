import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fromPublicId, newUuid } from '@gwk/core/ids';
import type { FinishedMedia } from '@gwk/core/resources/finished-media';
import { MAX_MEDIA_BYTES } from '@gwk/core/resources/media';
import type { MessageType, OutboundContent } from '@gwk/core/resources/message';
import { extractMedia } from '../../messages/preparation.js';
import { FileTooLarge, type MediaFiles, type MediaRow } from '../files.js';
import { FileMissing } from '../store/store.js';
import type { ToolAnswer, ToolJob } from '../tools/jobs.js';
import { Refused } from '../tools/refused.js';
import { jobFolder } from './job-folder.js';
import type { Tools } from '../tools/run.js';
import type { Fetcher } from './fetcher.js';
import { planOf, typeOf, type Plan } from './rules.js';
import { Unavailable } from './unavailable.js';

/** Brings the file of a message into the form in which an engine sends it. */
export interface FinishDeps {
  files: MediaFiles;
  fetcher: Fetcher;
  tools: Tools;
  /** Where files lie in the clear while they are decoded. */
  folder: string;
  fetchMs: number;
}

/** For whom the file is finished. */
export interface Owner {
  messageId: string;
  accountId: string;
}

/** @throws Unavailable; the signal's reason; what the store throws */
export async function finishMedia(
  content: OutboundContent,
  owner: Owner,
  deps: FinishDeps,
  signal: AbortSignal,
): Promise<FinishedMedia> {
  const given = extractMedia(content)!;
  const source = given.url
    ? await fetched(given.url, owner, deps, signal)
    : await uploaded(given.media_id, deps);
  const filename = given.filename ?? source.filename;
  const plan = planOf(content.type, source.mimetype, content.audio?.voice === true);
  const mimetype = typeOf(plan, source.mimetype, given.mimetype ?? null);
  const { row, seen } = await decoded(source, plan, { owner, deps, signal });
  return {
    file: row.id,
    mimetype,
    size: row.size,
    sha256: row.sha256.toString('hex'),
    filename: nameFor(content.type, filename),
    ...described(seen),
  };
}

/** A document has a name in any case: it is what the recipient sees of it. */
function nameFor(type: MessageType, filename: string | null): string | null {
  return type === 'document' ? (filename ?? 'document') : filename;
}

async function uploaded(publicId: string | null | undefined, { files }: FinishDeps): Promise<MediaRow> {
  const id = fromPublicId('media', publicId ?? '');
  const row = id === null ? null : await files.find(id);
  if (!row || row.removedAt !== null || row.expiresAt.getTime() <= Date.now()) {
    throw new Unavailable('the file has expired');
  }
  return row;
}

async function fetched(url: string, owner: Owner, deps: FinishDeps, signal: AbortSignal): Promise<MediaRow> {
  const { files, fetcher, fetchMs } = deps;
  const limit = AbortSignal.timeout(fetchMs);
  const whole = AbortSignal.any([signal, limit]);
  try {
    const { body, type, name } = await fetcher.fetch(url, MAX_MEDIA_BYTES, whole);
    const file = await files.receive(body, MAX_MEDIA_BYTES, { filename: name, declared: type });
    if (file.size === 0) {
      await files.discard(file);
      throw new Unavailable('the file is empty');
    }
    return await files.keep(file, { id: newUuid(), ...owner, filename: name });
  } catch (error) {
    if (error instanceof FileTooLarge) throw new Unavailable('the file is too large', { cause: error });
    if (signal.aborted) throw signal.reason;
    if (limit.aborted)
      throw new Unavailable('fetching the file takes too long', { passing: true, cause: error });
    if (isBrokenOff(error)) {
      throw new Unavailable('the file could not be fetched (broken off)', { passing: true, cause: error });
    }
    throw error;
  }
}

const isBrokenOff = (error: unknown): boolean =>
  ['UND_ERR_SOCKET', 'UND_ERR_BODY_TIMEOUT', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'ECONNRESET'].includes(
    String((error as { code?: unknown }).code),
  );

interface Decoding {
  owner: Owner;
  deps: FinishDeps;
  signal: AbortSignal;
}

/** The row to send, and what was seen of it. Where the file was converted, what was fetched for it goes. */
async function decoded(
  source: MediaRow,
  plan: Plan,
  { owner, deps, signal }: Decoding,
): Promise<{ row: MediaRow; seen: ToolAnswer }> {
  if (plan.do === 'nothing') return { row: source, seen: {} };
  const { files, tools } = deps;
  const folder = await jobFolder(deps.folder);
  try {
    const [input, output] = [join(folder, 'input'), join(folder, 'output')];
    await pipeline(await files.open(source), createWriteStream(input, { mode: 0o600 }), { signal });
    const seen = await tools.run(jobOf(plan, input, output), folder, signal);
    if (!seen.converted) return { row: source, seen };
    const named = { filename: null, declared: null };
    const file = await files.receive(createReadStream(output), MAX_MEDIA_BYTES, named);
    const row = await files.keep(file, { id: newUuid(), ...owner, filename: source.filename });
    if (source.messageId !== null) await files.forget(source.id);
    return { row, seen };
  } catch (error) {
    if (error instanceof Refused || error instanceof FileTooLarge || error instanceof FileMissing) {
      const text = error instanceof Refused ? error.message : 'the file is too large or gone';
      throw new Unavailable(text, { cause: error });
    }
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function jobOf(plan: Exclude<Plan, { do: 'nothing' }>, input: string, output: string): ToolJob {
  switch (plan.do) {
    case 'image':
      return { tool: 'image', input, output, keep: plan.keep };
    case 'sticker':
      return { tool: 'sticker', input };
    case 'video':
      return { tool: 'video', input, container: plan.container, thumbnail: output };
    case 'audio':
      return { tool: 'audio', input, output, container: plan.container, to: plan.to };
  }
}

function described({ converted: _, ...seen }: ToolAnswer): Omit<ToolAnswer, 'converted'> {
  return seen;
}
