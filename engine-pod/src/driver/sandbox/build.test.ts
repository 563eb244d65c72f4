import type { ClaimedMessage, QuotedMessage } from '@gwk/core/protocol/engine';
import type { InteractiveMode } from '@gwk/core/states';
import { SendFailure } from '../driver.js';
import { buildEdit, buildForSandbox } from './build.js';

const claimed = (content: object, given: Partial<ClaimedMessage> = {}): ClaimedMessage => ({
  message_id: 'm',
  conversation_id: 'c',
  chat: '5511987654321@s.whatsapp.net',
  wa_message_id: 'WA',
  type: 'text',
  content: JSON.stringify(content),
  interactive_mode: 'native+text',
  quoted: null,
  built: null,
  rendered_as: null,
  attempted_at: null,
  ...given,
});
const build = (content: object, overrides: Partial<ClaimedMessage> = {}) => {
  const { bytes, ...built } = buildForSandbox(claimed(content, overrides));
  return { ...built, body: JSON.parse(bytes.toString()) as Record<string, unknown> };
};
const media = { url: 'https://example.org/a' };

test.each<[string, object]>([
  ['text', { body: 'Olá', preview_url: true }],
  ['image', { media, caption: 'Foto' }],
  ['video', { media, round: true }],
  ['document', { media, caption: null }],
  ['audio', { media, voice: true }],
  ['sticker', { media }],
  ['location', { latitude: 1, longitude: 2 }],
  ['contact', { name: 'Ana', phones: ['5511987654321'] }],
])('renders %s unchanged', (type, content) => {
  const { body, menu, rendered_as } = build({ type, [type]: content });
  expect(body).toMatchObject({ type, [type]: content });
  expect([menu, rendered_as]).toEqual([null, null]);
});

test('renders an album, and names it in its files', () => {
  const album = { images: 1, videos: 1 };
  expect(build({ type: 'album', album }).body).toEqual({ type: 'album', album });
  const part_of = { wa_message_id: 'WA', kind: 'album' };
  const { body } = build({ type: 'image', image: { media }, part_of });
  expect(body).toEqual({ type: 'image', image: { media }, part_of });
});

const buttons = [
  { type: 'reply', label: 'Sim', id: 'yes' },
  { type: 'copy', label: 'Copiar', code: 'A1' },
];

test.each<[string, InteractiveMode, InteractiveMode | undefined, InteractiveMode]>([
  ['of the instance', 'native', undefined, 'native'],
  ['of the message', 'native', 'text', 'text'],
  ['of the message, over the default', 'native+text', 'native', 'native'],
])('the mode %s counts', (_, ofInstance, mode, expected) => {
  const content = { type: 'interactive', interactive: { body: 'Quer?', buttons, ...(mode && { mode }) } };
  const { menu } = build(content, { interactive_mode: ofInstance });
  expect(menu).toEqual({
    kind: 'interactive',
    mode: expected,
    options: [{ id: 'yes', label: 'Sim', number: 1 }],
    selectable: null,
  });
});

test('renders a poll with its options, without numbers', () => {
  const options = ['Azul', 'Verde'].map((label, n) => ({ id: `o${n}`, label }));
  const { menu, body } = build({ type: 'poll', poll: { name: 'Cor?', options, selectable: 2 } });
  expect(body).toEqual({ type: 'poll', poll: { name: 'Cor?', options, selectable: 2 } });
  expect(menu).toEqual({
    kind: 'poll',
    mode: 'native',
    options: options.map((option) => ({ ...option, number: null })),
    selectable: 2,
  });
});

test('adds a quote and mentions to every type of content', () => {
  const quoted: QuotedMessage = {
    wa_message_id: 'W1',
    chat: '5511987654321@s.whatsapp.net',
    from_me: false,
    participant: null,
    type: 'text',
    text: 'Oi',
  };
  const mentions = ['5511987650000@s.whatsapp.net'];
  const location = { latitude: 1, longitude: 2 };
  expect(build({ type: 'location', location, mentions }, { quoted }).body).toEqual({
    type: 'location',
    location,
    quoted,
    mentions,
  });
});

test.each(['song', 'constructor'])('fails for an unknown type: %s', (type) => {
  expect(() => buildForSandbox(claimed({ type }))).toThrow(SendFailure);
});

test('renders the same content to the same bytes', () => {
  const content = claimed({ type: 'interactive', interactive: { body: 'Quer?', buttons } });
  expect(buildForSandbox(content).bytes).toEqual(buildForSandbox(content).bytes);
});

const key = { chat: 'c', wa_message_id: 'W1', from_me: true, participant: null };
test.each([
  [{ kind: 'edit', text: 'novo' } as const, { type: 'edit', key, text: { body: 'novo' } }],
  [{ kind: 'delete' } as const, { type: 'delete', key }],
  [{ kind: 'react', emoji: '' } as const, { type: 'react', key, emoji: '' }],
])('an edit names the edited message: %j', (change, expected) => {
  const bytes = buildEdit({ ...change, stanza_id: 'S', message: key });
  expect(JSON.parse(bytes.toString())).toEqual(expected);
});
