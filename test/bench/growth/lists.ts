import { randomUUID } from 'node:crypto';
import { percentile } from '../shared/statistics.js';
import { PER_CONTACT } from './fill.js';
import type { Person, Subject } from './subject.js';

/** Rows of each kind that must exist before pages are compared. */
export const PAGE = 50;
const DEEP_PAGE = 200;
const DEEP_PAGES = 5;
/** Messages sent before lists are measured. Each instance has at least a page of them. */
export const ENOUGH = 2_000;

interface Kind {
  query: (subject: Subject) => string;
  rows: number;
  pages: number;
}

const one = (query: Kind['query'], rows = PAGE): Kind => ({ query, rows, pages: 1 });

export const KINDS: Record<string, Kind> = {
  'newest 50': one(() => `limit=${PAGE}`),
  'newest 50 of an instance': one(({ instances }) => `limit=${PAGE}&instance_id=${instances[3]!}`),
  'newest 50 to a phone': one(({ people }) => `limit=${PAGE}&to=${people.busy.phone}`),
  'all ten to a phone': one(({ people }) => `limit=${PAGE}&to=${people.quiet.phone}`, PER_CONTACT),
  'newest 50 that are queued': one(() => `limit=${PAGE}&status=queued`),
  'failed messages, of which there are none': one(() => `limit=${PAGE}&status=failed`, 0),
  'all pages of 200, five deep': { query: () => `limit=${DEEP_PAGE}`, rows: DEEP_PAGE, pages: DEEP_PAGES },
};

/**
 * Sends more than a page to the busy contact. In a database without filled messages, sends the quiet contact as many as
 * the filled one has, so that lists have the same length.
 * @returns the number of sent messages
 */
export async function sendToPeople(subject: Subject): Promise<number> {
  const { busy, quiet } = subject.people;
  const sends = [
    ...Array<Person>(PAGE + 10).fill(busy),
    ...Array<Person>(subject.filled === 0 ? PER_CONTACT : 0).fill(quiet),
  ];
  for (const [number, person] of sends.entries()) await send(subject, person, number);
  return sends.length;
}

async function send({ url, apiKey }: Subject, { phone, instance }: Person, number: number): Promise<void> {
  const answer = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    },
    body: JSON.stringify({
      instance_id: instance,
      to: phone,
      type: 'text',
      text: { body: `pedido ${number}` },
    }),
  });
  if (answer.status !== 202) throw new Error(`a send returned ${answer.status}`);
}

/** Median milliseconds per page for each kind. The databases alternate for every list. */
export async function listAll(
  subjects: readonly Subject[],
  lists: number,
): Promise<Record<string, number>[]> {
  const middle = subjects.map((): Record<string, number> => ({}));
  for (const [name, kind] of Object.entries(KINDS)) {
    const times = subjects.map((): number[] => []);
    for (let count = 0; count < lists; count++)
      for (const [index, subject] of subjects.entries()) times[index]!.push(...(await pages(subject, kind)));
    for (const [index, values] of times.entries()) middle[index]![name] = percentile(values, 0.5);
  }
  return middle;
}

/** Requires pages of the expected length. Others could not be compared. */
async function pages(subject: Subject, { query, rows, pages: wanted }: Kind): Promise<number[]> {
  const times: number[] = [];
  let cursor: string | null = '';
  for (let page = 0; page < wanted; page++) {
    const began = performance.now();
    const answer = await fetch(
      `${subject.url}/v1/messages?${query(subject)}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`,
      { headers: { authorization: `Bearer ${subject.apiKey}` } },
    );
    const body = (await answer.json()) as { data: unknown[]; next_cursor: string | null };
    if (!answer.ok) throw new Error(`a list returned ${answer.status}`);
    times.push(performance.now() - began);
    if (body.data.length !== rows)
      throw new Error(`${query(subject)}: ${body.data.length} rows, and not ${rows}`);
    cursor = body.next_cursor;
  }
  return times;
}
