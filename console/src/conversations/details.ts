import { formatTime } from '../ui/time';
import type { Content } from './rows';

/** A card as lines of text, and the choices that it offers. */
interface Card {
  lines: string[];
  options: string[];
}

const price = (amount: number | undefined, currency = ''): string =>
  amount === undefined ? '' : `${amount} ${currency}`;

type Details = NonNullable<Content['details']>;
type Facts = (string | undefined)[];
type Readers = {
  [Kind in Details['kind']]?: (details: Extract<Details, { kind: Kind }>, language: string) => Facts;
};

const LINES: Readers = {
  order: ({ title, total, currency }) => [title, price(total, currency)],
  product: ({ title, description, price: amount, currency }) => [title, description, price(amount, currency)],
  catalog: ({ title, description }) => [title, description],
  event: ({ starts_at: start, description, place }, language) => [
    start && formatTime(start, language),
    description,
    place?.name,
  ],
  invitation: ({ name }) => [name],
  form: ({ name }) => [name],
  payment_request: ({ amount, currency }) => [price(amount, currency)],
  menu: ({ footer }) => [footer],
  list: ({ title, footer }) => [title, footer],
};

const OPTIONS: Readers = {
  menu: ({ options = [] }) => options.map(({ label }) => label),
  list: ({ sections = [] }) => sections.flatMap(({ rows = [] }) => rows.map(({ title }) => title)),
  poll: ({ options = [] }) => options,
};

const isSaid = (fact: string | undefined): fact is string => fact !== undefined && fact.trim() !== '';

/** Shows the facts of a received card that its text does not have. */
export function describeCard(details: Details | undefined, language: string): Card {
  const read = (readers: Readers): string[] => {
    if (!details) return [];
    const reader = readers[details.kind] as ((given: Details, language: string) => Facts) | undefined;
    return (reader?.(details, language) ?? []).filter(isSaid);
  };
  return { lines: read(LINES), options: read(OPTIONS) };
}
