import { proto } from '@whiskeysockets/baileys';
import type { Referral } from '@gwk/core/resources/event-data';
import { limitText } from './text.js';

type Ad = proto.ContextInfo.IExternalAdReplyInfo;
type Texts<From> = readonly (readonly [keyof Referral, keyof From, number])[];

const AD: Texts<Ad> = [
  ['source_type', 'sourceType', 500],
  ['source_id', 'sourceId', 500],
  ['source_url', 'sourceUrl', 2_048],
  ['source_app', 'sourceApp', 500],
  ['headline', 'title', 1_000],
  ['body', 'body', 4_096],
  ['media_url', 'mediaUrl', 2_048],
  ['thumbnail_url', 'thumbnailUrl', 2_048],
  ['ctwa_clid', 'ctwaClid', 500],
  ['ref', 'ref', 500],
];
/** The older form of the same. */
const QUOTED_AD: Texts<proto.ContextInfo.IAdReplyInfo> = [
  ['headline', 'advertiserName', 1_000],
  ['body', 'caption', 4_096],
];
const CONTEXT: Texts<proto.IContextInfo> = [
  ['conversion_source', 'conversionSource', 500],
  ['ctwa_signals', 'ctwaSignals', 500],
];
const OPAQUE = [
  ['conversion_data', 'conversionData'],
  ['ctwa_payload', 'ctwaPayload'],
] as const;
/** Bytes. Real ones have some hundred. */
const MAX_OPAQUE = 6_000;
const { IMAGE, VIDEO } = proto.ContextInfo.ExternalAdReplyInfo.MediaType;

/** Facts that only an advertisement has. Previews of links have the same form without them. */
const PROOFS: readonly (keyof Referral)[] = [
  ...(['source_type', 'source_id', 'ctwa_clid', 'ctwa_signals'] as const),
  ...(['ctwa_payload', 'conversion_data'] as const),
];

/** Null for a message that no advertisement led to. Pictures are left out: they can be megabytes. */
export function parseReferral(context: proto.IContextInfo): Referral | null {
  const { externalAdReply: ad, quotedAd } = context;
  const referral: Referral = {
    ...readTexts(QUOTED_AD, quotedAd),
    ...readTexts(AD, ad),
    ...readType(ad?.mediaType ?? quotedAd?.mediaType),
    ...readTexts(CONTEXT, context),
    ...readBytes(context),
  };
  return quotedAd || PROOFS.some((field) => referral[field] !== undefined) ? referral : null;
}

function readTexts<From extends object>(texts: Texts<From>, from: From | null | undefined): Referral {
  const found = texts.flatMap(([field, name, max]) => {
    const text = from?.[name];
    return typeof text === 'string' && text !== '' ? [[field, limitText(text, max)]] : [];
  });
  return Object.fromEntries(found) as Referral;
}

function readType(type: number | null | undefined): Referral {
  if (type === IMAGE) return { media_type: 'image' };
  return type === VIDEO ? { media_type: 'video' } : {};
}

/** A part of such a field would be useless, so a longer one is left out. */
function readBytes(context: proto.IContextInfo): Referral {
  const found = OPAQUE.flatMap(([field, name]) => {
    const bytes = context[name];
    return bytes?.length && bytes.length <= MAX_OPAQUE
      ? [[field, Buffer.from(bytes).toString('base64')]]
      : [];
  });
  return Object.fromEntries(found) as Referral;
}
