import { z } from 'zod';
import { Problem } from '../problems/problems.js';
import { INTERACTIVE_MODES } from '../states.js';
import { limitMarks, removeUnseen } from '../text/text-folding.js';
import { label, text, visibleText } from './common.js';

/** UTF-16 units of a label. Longer ones are refused. */
const MAX_LABEL = 4_000;

/** Labels with equal results look equal on a phone. */
const appearance = (value: string): string =>
  removeUnseen(limitMarks(value.slice(0, MAX_LABEL)).normalize('NFC'))
    .replaceAll(/\s+/gu, ' ')
    .trim();

const DIFFERENT = 'must differ from the others';

/** Refuses an item whose key an earlier item has, at the path of its field. Items without a key never match. */
function refuseEqual<T>(field: keyof T & string, key: (item: T) => string | null | undefined) {
  return (items: T[], ctx: z.RefinementCtx): void => {
    const seen = new Set<string>();
    items.forEach((item, index) => {
      const value = key(item);
      if (typeof value !== 'string') return;
      if (seen.has(value)) ctx.addIssue({ code: 'custom', path: [index, field], message: DIFFERENT });
      seen.add(value);
    });
  };
}

/** Content of messages, one schema for each type. */
export const MAX_TEXT = 65_536;
const MAX_CAPTION = 1024;

const PHONE = /^\+?[0-9]{8,15}$/;
const uri = () =>
  text(1, 2083).refine((value) => URL.canParse(value), { message: 'must be an absolute URI' });

/** Not strict: unknown fields inside `text` are ignored. */
export const TextContent = z.object({ body: visibleText(MAX_TEXT), preview_url: z.boolean().optional() });

/** The worker fetches media only over HTTP(S). */
const webUri = () => uri().refine((value) => /^https?:/i.test(value), { message: 'must be http or https' });

export const MediaInput = z.strictObject({
  media_id: z
    .string()
    .regex(/^med_[0-9a-f]{32}$/)
    .nullish(),
  url: webUri().nullish(),
  filename: text(1, 255).nullish(),
  mimetype: text(1, 120).nullish(),
});

export const CaptionedContent = z.strictObject({
  media: MediaInput,
  caption: text(0, MAX_CAPTION).nullish(),
});
/** `hd`: sent in two versions, as the apps do: a standard one, then the whole picture. */
export const ImageContent = CaptionedContent.extend({ hd: z.boolean().optional() });
/** `round`: a video note. The apps show no caption with one. */
export const VideoContent = CaptionedContent.extend({ round: z.boolean().optional() }).refine(
  ({ round, caption }) => !round || !caption,
  { path: ['caption'], message: 'a round video has none' },
);
export const AlbumFile = z.strictObject({
  image: CaptionedContent.optional(),
  video: CaptionedContent.optional(),
});
export const AlbumContent = z
  .array(AlbumFile.refine(({ image, video }) => !image !== !video, { message: 'either image or video' }))
  .min(2)
  .max(30);
export const AudioContent = z.strictObject({ media: MediaInput, voice: z.boolean().default(false) });
export const StickerContent = z.strictObject({ media: MediaInput });

export const LocationContent = z.strictObject({
  latitude: z.number().min(-90).max(90),
  longitude: z.number().min(-180).max(180),
  name: text(0, 200).nullish(),
  address: text(0, 400).nullish(),
});

export const ContactContent = z.strictObject({
  name: visibleText(200),
  phones: z.array(z.string().regex(PHONE)).min(1).max(5),
  organization: text(0, 200).nullish(),
});

export const Button = z.strictObject({
  type: z.enum(['reply', 'url', 'call', 'copy']),
  label: label(1, 25),
  id: text(1, 100).nullish(),
  url: webUri().nullish(),
  phone: z.string().regex(PHONE).nullish(),
  code: text(1, 512).nullish(),
});
export type Button = z.infer<typeof Button>;

const ListRow = z.strictObject({
  id: text(1, 200),
  title: label(1, 24),
  description: label(0, 72).nullish(),
});

export const ListContent = z.strictObject({
  button: label(1, 20),
  sections: z
    .array(
      z.strictObject({
        title: label(0, 24).default(''),
        // Two rows of a section must look different.
        rows: z
          .array(ListRow)
          .min(1)
          .max(10)
          .superRefine(
            refuseEqual('title', (row) => `${appearance(row.title)}\n${appearance(row.description ?? '')}`),
          ),
      }),
    )
    .min(1)
    .max(10)
    .superRefine((sections, ctx) => {
      const seen = new Set<string>();
      sections.forEach(({ rows }, section) =>
        rows.forEach(({ id }, row) => {
          if (seen.has(id))
            ctx.addIssue({ code: 'custom', path: [section, 'rows', row, 'id'], message: DIFFERENT });
          seen.add(id);
        }),
      );
    }),
});

export const InteractiveContent = z.strictObject({
  body: label(1, 1024),
  footer: label(0, 60).nullish(),
  buttons: z
    .array(Button)
    .min(1)
    .max(3)
    .superRefine(refuseEqual('label', (button) => appearance(button.label)))
    .superRefine(refuseEqual('id', (button) => button.id))
    .nullish(),
  list: ListContent.nullish(),
  mode: z.enum(INTERACTIVE_MODES).nullish(),
  format: z.enum(['native_flow', 'legacy']).nullish(),
});
export type InteractiveContent = z.infer<typeof InteractiveContent>;

export const PollContent = z
  .strictObject({
    name: label(1, 255),
    // Votes on the network name an option only by its label.
    options: z
      .array(z.strictObject({ id: text(1, 100), label: label(1, 100) }))
      .min(2)
      .max(12)
      .superRefine(refuseEqual('label', (option) => appearance(option.label)))
      .superRefine(refuseEqual('id', (option) => option.id)),
    selectable: z.number().int().min(1).default(1),
  })
  .superRefine((poll, ctx) => {
    if (poll.selectable > poll.options.length) {
      ctx.addIssue({ code: 'custom', path: ['selectable'], message: 'at most the number of options' });
    }
  });
export type PollContent = z.infer<typeof PollContent>;

const isGiven = (value: unknown): boolean => value !== null && value !== undefined;

/** Checks rules between fields. @throws Problem `invalid-message` */
export function checkMedia(media: z.infer<typeof MediaInput>): void {
  if (isGiven(media.media_id) === isGiven(media.url)) {
    throw new Problem('invalid-message', {
      detail: {
        pt: 'Informe `media_id` ou `url`, e só um deles.',
        en: 'Give `media_id` or `url`, and only one of them.',
      },
    });
  }
}

const NEEDED: Record<Button['type'], 'id' | 'url' | 'phone' | 'code'> = {
  reply: 'id',
  url: 'url',
  call: 'phone',
  copy: 'code',
};

/** Checks rules between fields. @throws Problem `invalid-message` */
export function checkInteractive(content: InteractiveContent): void {
  if (isGiven(content.buttons) === isGiven(content.list)) {
    throw new Problem('invalid-message', {
      detail: {
        pt: 'Informe `buttons` ou `list`, e só um deles.',
        en: 'Give `buttons` or `list`, and only one of them.',
      },
    });
  }
  for (const button of content.buttons ?? []) {
    const needed = NEEDED[button.type];
    if (!isGiven(button[needed])) {
      throw new Problem('invalid-message', {
        detail: {
          pt: `Um botão \`${button.type}\` precisa de \`${needed}\`.`,
          en: `A button \`${button.type}\` needs \`${needed}\`.`,
        },
      });
    }
  }
}
