import { z } from 'zod';
import { MAX_DETAILS, MAX_DETAILS_ITEMS, PAIRS } from './details-values.js';
import { pascalCase } from '../text/pascal-case.js';

// The facts of received cards, by kind. Fields that the sender's app left out are absent.

const text = () => z.string().max(MAX_DETAILS).optional();
const time = () => z.iso.datetime().optional();
const amount = () => z.number().optional();
const count = () => z.int().min(0).optional();
const flag = () => z.literal(true).optional();
const list = <T extends z.ZodType>(item: T) => z.array(item).max(MAX_DETAILS_ITEMS).optional();
/** Network id of the message that the card is about. */
const target = { wa_message_id: text() };

const Place = z.object({ name: text(), address: text(), latitude: amount(), longitude: amount() });
const Row = z.object({ id: text(), title: text(), description: text() });
const Card = z.object({
  name: text(),
  organization: text(),
  emails: list(z.string()),
  addresses: list(z.string()),
  /** `number` as written; `id`: the digits of its account. */
  numbers: list(z.object({ number: text(), label: text(), id: text() })),
});

/** By `kind`. */
export const DETAILS_FIELDS = {
  order: {
    ...{ order_id: text(), token: text(), title: text(), item_count: count() },
    ...{ total: amount(), currency: text(), seller: text() },
  },
  product: {
    ...{ product_id: text(), retailer_id: text(), title: text(), description: text(), url: text() },
    ...{ price: amount(), sale_price: amount(), currency: text(), image_count: count(), seller: text() },
  },
  catalog: {
    ...{ title: text(), description: text(), seller: text() },
    sections: list(z.object({ title: text(), product_ids: list(z.string()) })),
  },
  list: {
    ...{ title: text(), button: text(), footer: text() },
    sections: list(z.object({ title: text(), rows: list(Row) })),
  },
  menu: { footer: text(), options: list(z.object({ id: text(), label: text() })) },
  poll: { options: list(z.string()), selectable: count() },
  event: {
    ...{ description: text(), starts_at: time(), ends_at: time(), place: Place.optional() },
    ...{ link: text(), canceled: flag() },
  },
  invitation: { id: text(), code: text(), name: text(), expires_at: time() },
  comment: target,
  form: { name: text(), answers: z.record(z.string(), z.unknown()).optional() },
  payment_request: { amount: amount(), currency: text(), from: text(), expires_at: time() },
  location: { url: text(), comment: text(), accuracy_m: count(), sequence: count() },
  contacts: { cards: list(Card) },
  pin: { ...target, removed: flag() },
  keep: { ...target, removed: flag() },
  video: { round: flag() },
} as const;

export type DetailsKind = keyof typeof DETAILS_FIELDS;

const [first, ...more] = Object.entries(DETAILS_FIELDS).map(([kind, fields]) =>
  z.object({ kind: z.literal(kind), ...fields }).meta({ id: `${pascalCase(kind)}Details` }),
);
export const Details = z.discriminatedUnion('kind', [first!, ...more]).meta({ id: 'Details' });
export type Details = z.infer<typeof Details>;

/** The message that comes first in the other quality. */
export const Pair = z
  .object({ wa_message_id: z.string().min(1).max(200), kind: z.enum(Object.values(PAIRS)) })
  .meta({ id: 'Pair' });
export type Pair = z.infer<typeof Pair>;

/** The channel from which a message was forwarded. */
export const ForwardedFrom = z
  .object({
    id: z.string().max(100).optional(),
    name: z.string().max(1000).optional(),
    /** Number of the post. The link of a channel and this number lead to it. */
    post_id: z.int().min(0).optional(),
  })
  .meta({ id: 'ForwardedFrom' });
