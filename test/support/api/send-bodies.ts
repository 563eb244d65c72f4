import { readDraft } from '@gwk/api/messages/send/request';
import { Problem } from '@gwk/core/problems/problems';

export const MEDIA_ID = `med_${'a'.repeat(32)}`;
export const media = { media_id: MEDIA_ID };
export const row = { id: 'r', title: 'Linha' };
export const section = { title: 'Seção', rows: [row] };
export const button = { type: 'reply', label: 'Sim', id: 'sim' };

/** The smallest valid content of each type. */
export const GOOD = {
  text: { body: 'oi' },
  image: { media },
  video: { media },
  document: { media },
  audio: { media },
  sticker: { media },
  location: { latitude: 0, longitude: 0 },
  contact: { name: 'Ana', phones: ['5511987654321'] },
  interactive: { body: 'Escolha', buttons: [button] },
  poll: {
    name: 'Qual?',
    options: [
      { id: 'a', label: 'A' },
      { id: 'b', label: 'B' },
    ],
  },
} as const;
export type Type = keyof typeof GOOD;

export const list = (sections: unknown) => ({ buttons: undefined, list: { button: 'Ver', sections } });
export const createBody = (type: Type, content: object, more: object = {}) => ({
  instance_id: `ins_${'0'.repeat(32)}`,
  to: '5511987654321',
  type,
  [type]: { ...GOOD[type], ...content },
  ...more,
});

/** Returns `accepted`, or the problem code and the paths. */
export function check(body: unknown): string {
  try {
    readDraft(body);
    return 'accepted';
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const paths = error.extras.errors?.map(({ path }) => path) ?? [];
    return [error.code, ...new Set(paths)].join(' ');
  }
}

/** The interface counts code points: each of these is one, and two UTF-16 units. */
export const chars = (count: number) => '😀'.repeat(count);
export const ascii = (count: number) => 'a'.repeat(count);
export const url = (length: number) => `https://example.org/${ascii(length - 'https://example.org/'.length)}`;
export const many = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, i) => make(i));
export const createRow = (change: object) => list([{ ...section, rows: [{ ...row, ...change }] }]);
/** Buttons, rows and sections that can be told apart. */
export const numberedButton = (n: number) => ({ ...button, id: `b${n}`, label: `Sim ${n}` });
export const numberedRow = (n: number) => ({ id: `r${n}`, title: `Linha ${n}` });
export const numberedSection = (n: number) => ({ ...section, rows: [{ ...row, id: `s${n}` }] });

export const options = (count: number) => many(count, (n) => ({ id: `o${n}`, label: `Opção ${n}` }));
