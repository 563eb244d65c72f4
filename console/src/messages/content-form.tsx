import { NumberInput, Stack, Switch, Textarea, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { MessageType } from './examples';
import { FileField, type Content } from './file-field';

type FieldName =
  | 'body'
  | 'caption'
  | 'address'
  | 'name'
  | 'organization'
  | 'footer'
  | 'phones'
  | 'buttons'
  | 'options'
  | 'latitude'
  | 'longitude'
  | 'selectable'
  | 'preview_url'
  | 'voice'
  | 'hd'
  | 'round'
  | 'media';

/** Fields of the form by message type, in order. The JSON has the rest. */
const FIELDS: Record<MessageType, readonly FieldName[]> = {
  text: ['body', 'preview_url'],
  image: ['media', 'caption', 'hd'],
  video: ['media', 'caption', 'round'],
  document: ['media', 'caption'],
  audio: ['media', 'voice'],
  sticker: ['media'],
  location: ['latitude', 'longitude', 'name', 'address'],
  contact: ['name', 'phones', 'organization'],
  interactive: ['body', 'buttons', 'footer'],
  poll: ['name', 'options', 'selectable'],
  album: [],
};

interface ContentFormProps {
  type: MessageType;
  content: Content;
  onChange: (content: Content) => void;
}

/** The content of a message as a form. */
export function ContentForm({ type, content, onChange }: ContentFormProps) {
  return (
    <Stack>
      {FIELDS[type].map((name) => (
        <Field
          key={name}
          name={name}
          value={content[name]}
          set={(value) => onChange(withField(content, name, value))}
        />
      ))}
    </Stack>
  );
}

/** An empty optional field is left out. */
function withField(content: Content, name: FieldName, value: unknown): Content {
  const changed = { ...content, [name]: value };
  if (value === '') delete changed[name];
  return changed;
}

interface FieldProps {
  name: FieldName;
  value: unknown;
  set: (value: unknown) => void;
}

const SWITCHES: ReadonlySet<FieldName> = new Set(['preview_url', 'voice', 'hd', 'round']);

function Field({ name, value, set }: FieldProps) {
  const { t } = useTranslation();
  const label = t(`send.fields.${name}`);
  if (SWITCHES.has(name))
    return (
      <Switch label={label} checked={value === true} onChange={(event) => set(event.currentTarget.checked)} />
    );
  switch (name) {
    case 'media':
      return <FileField value={(value ?? {}) as Content} set={set} />;
    case 'latitude':
    case 'longitude':
    case 'selectable':
      return (
        <NumberInput
          label={label}
          required
          value={typeof value === 'number' ? value : ''}
          onChange={(typed) => set(typed)}
          decimalScale={name === 'selectable' ? 0 : 7}
          hideControls
        />
      );
    case 'phones':
    case 'buttons':
    case 'options':
      return <LinesField name={name} value={value} set={set} />;
    case 'body':
    case 'caption':
      return (
        <Textarea
          label={label}
          required={name === 'body'}
          autosize
          minRows={3}
          maxRows={12}
          value={readText(value)}
          onChange={(event) => set(event.currentTarget.value)}
        />
      );
    default:
      return (
        <TextInput
          label={label}
          value={readText(value)}
          onChange={(event) => set(event.currentTarget.value)}
        />
      );
  }
}

const readText = (value: unknown): string => (typeof value === 'string' ? value : '');

/** How the lines of a text become the items of a list, and back. */
const ITEMS: Record<'phones' | 'buttons' | 'options', (line: string, index: number) => unknown> = {
  phones: (line: string) => line,
  buttons: (line: string, index: number) => ({ type: 'reply', id: String(index + 1), label: line }),
  options: (line: string, index: number) => ({ id: String(index + 1), label: line }),
};

/** A list, as one item a line. */
function LinesField({ name, value, set }: FieldProps & { name: keyof typeof ITEMS }) {
  const { t } = useTranslation();
  const items = Array.isArray(value) ? (value as (string | { label?: unknown })[]) : [];
  const lines = items.map((item) => (typeof item === 'string' ? item : readText(item.label)));
  return (
    <Textarea
      label={t(`send.fields.${name}`)}
      description={t('send.lines')}
      required
      autosize
      minRows={3}
      value={lines.join('\n')}
      onChange={(event) => set(event.currentTarget.value.split('\n').map(ITEMS[name]))}
    />
  );
}
