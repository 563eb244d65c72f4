import { randomUUID } from 'node:crypto';
import { openAsBlob } from 'node:fs';
import { basename } from 'node:path';
import type { Gwk, Schemas } from '@gwk/client';
import { InvalidArgumentError, type Command } from 'commander';
import {
  addCommand,
  note,
  openGateway,
  parseCount,
  printItem,
  printList,
  type CommonOptions,
} from '../command.js';
import { CliError, explainFailure } from '../errors.js';
import { take } from '../gateway/client.js';
import { findInstance } from './instances.js';

type Message = Schemas['MessageOut'];
type Media = Pick<Schemas['MediaOut'], 'id' | 'mimetype' | 'filename'>;
type Request = Parameters<Gwk['messages']['send']>[0];

interface SendOptions extends CommonOptions {
  from: string;
  to: string;
  file?: string;
  idempotencyKey?: string;
}

const SEND_RETRIES = 3;

const COLUMNS = {
  id: ({ id }: Message) => id,
  direction: ({ direction }: Message) => direction,
  to: ({ to }: Message) => to,
  type: ({ type }: Message) => type,
  status: ({ status }: Message) => status,
  created: ({ created_at }: Message) => created_at,
};

export function registerMessages(program: Command): void {
  addCommand(program, 'send [text]', 'send a text or a file; a text with a file is its caption')
    .requiredOption('--from <instance>', 'id or name of the instance')
    .requiredOption('--to <number>', 'phone number with country and area code, or a group', parseRecipient)
    .option('--file <path>', 'file to send')
    .option('--idempotency-key <key>', 'repeats with the same key send once (default: a new key)')
    .action(async (text: string | undefined, options: SendOptions) =>
      printItem(await send(text, options), options),
    );
  const messages = program.command('messages').description('messages, sent and received');
  addCommand(messages, 'list', 'list messages, newest first')
    .option('--instance <instance>', 'only messages of this instance')
    .option('--status <status>', 'only messages with this status')
    .option('--to <number>', 'only messages to this number', parseRecipient)
    .option('--since <time>', 'only messages since this time, e.g. 2026-11-21T14:30:00Z')
    .option('--limit <number>', 'maximum number of messages', parseCount, 20)
    .action(list);
  addCommand(messages, 'get <id>', 'show a message').action(async (id: string, options: CommonOptions) =>
    printItem(await openGateway(options).messages.get(id), options),
  );
}

type ListOptions = CommonOptions & {
  instance?: string;
  status?: string;
  to?: string;
  since?: string;
  limit: number;
};

async function list({ instance, status, to, since, ...options }: ListOptions): Promise<void> {
  const gateway = openGateway(options);
  const id = instance === undefined ? undefined : (await findInstance(gateway, instance)).id;
  const limit = Math.min(options.limit, 100);
  // The gateway refuses an unknown status.
  const query = { instance_id: id, status, to, since, limit } as Parameters<Gwk['messages']['list']>[0];
  printList(await take<Message>(gateway.messages.list(query), options.limit), COLUMNS, options);
}

async function send(text: string | undefined, options: SendOptions): Promise<object> {
  if (text === undefined && options.file === undefined) throw new CliError('usage', 'Give a text or --file');
  const gateway = openGateway(options);
  const { id } = await findInstance(gateway, options.from);
  const key = options.idempotencyKey ?? randomUUID();
  const media = options.file === undefined ? null : await upload(gateway, options.file, key);
  const request = { instance_id: id, to: options.to, ...buildContent(text, media) } as Request;
  try {
    return await gateway.messages.send(request, { idempotencyKey: key, retries: SEND_RETRIES });
  } catch (error) {
    const remark = describeUnclear(error, key);
    if (remark !== null) note(remark);
    throw error;
  }
}

/** Null: the gateway has refused the message. */
export function describeUnclear(error: unknown, key: string): string | null {
  if (explainFailure(error)?.kind !== 'network') return null;
  return `The message may have been sent. Repeat the command with --idempotency-key=${key} to send it once.`;
}

/** The content of a request. @throws CliError */
export function buildContent(text: string | undefined, media: Media | null): object {
  if (!media) return { type: 'text', text: { body: text } };
  const [kind] = media.mimetype.split('/');
  const type = ['image', 'video', 'audio'].includes(kind!) ? kind! : 'document';
  if (type === 'audio' && text !== undefined)
    throw new CliError('usage', 'A sound has no caption: send the text alone');
  const named = type === 'document' && media.filename !== null && { filename: media.filename };
  return {
    type,
    [type]: { media: { media_id: media.id, ...named }, ...(text !== undefined && { caption: text }) },
  };
}

/** With the same key the gateway answers with the same file, so that the message is the same too. */
async function upload(gateway: Gwk, path: string, idempotencyKey: string): Promise<Media> {
  const file = await openAsBlob(path).catch((error: unknown) => {
    throw new CliError('usage', `${path} cannot be read`, { cause: error });
  });
  return gateway.media.upload({ file, filename: basename(path) }, { idempotencyKey });
}

/** @throws InvalidArgumentError */
export function parseRecipient(given: string): string {
  if (given.includes('@')) return given;
  const digits = given.replace(/[\s()+.-]/g, '');
  if (!/^\d{8,15}$/.test(digits)) throw new InvalidArgumentError('8 to 15 digits, e.g. 5511999990000');
  return digits;
}
