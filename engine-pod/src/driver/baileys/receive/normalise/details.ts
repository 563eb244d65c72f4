import { proto } from '@whiskeysockets/baileys';
import type { Details, DetailsKind } from '@gwk/core/resources/details';
import { MAX_DETAILS, MAX_DETAILS_ITEMS } from '@gwk/core/resources/details-values';
import { limitText } from './text.js';
import { readCards } from './vcards.js';

type Value = number | { toString(): string } | null | undefined;

/** The facts of a card before they are limited. Absent ones are undefined, null or empty. */
interface Facts extends Record<string, unknown> {
  kind: DetailsKind;
}

const MAX_DEPTH = 8;
const LAST_TIME = 253_402_300_799;

const thousandths = (value: Value): number | null => (value ? Number(value) / 1_000 : null);
const count = (value: Value): number | null => {
  const rounded = Math.round(Number(value ?? 0));
  return rounded > 0 && Number.isSafeInteger(rounded) ? rounded : null;
};

/** @param seconds since 1970; 0: unknown. Senders choose it. */
function toTime(seconds: Value): string | null {
  const value = Number(seconds ?? 0);
  return value > 0 && value <= LAST_TIME ? new Date(value * 1_000).toISOString() : null;
}

type Tables = {
  [Field in keyof proto.IMessage]: (content: NonNullable<proto.IMessage[Field]>) => Facts | null;
};

/** By field of the message. */
const DETAILS: Tables = {
  orderMessage: (order) => ({
    ...{ kind: 'order', order_id: order.orderId, token: order.token, title: order.orderTitle },
    ...{ item_count: count(order.itemCount), total: thousandths(order.totalAmount1000) },
    ...{ currency: order.totalCurrencyCode, seller: order.sellerJid },
  }),
  productMessage: ({ product, catalog, businessOwnerJid: seller }) =>
    product
      ? { ...describeProduct(product), seller }
      : { kind: 'catalog', title: catalog?.title, description: catalog?.description, seller },
  listMessage: (message) => (message.productListInfo ? describeCatalog(message) : describeList(message)),
  interactiveMessage: ({ footer, nativeFlowMessage }) => ({
    ...{ kind: 'menu', footer: footer?.text },
    options: nativeFlowMessage?.buttons?.map(({ buttonParamsJson }) => readButton(buttonParamsJson)),
  }),
  buttonsMessage: ({ footerText, buttons }) => ({
    ...{ kind: 'menu', footer: footerText },
    options: buttons?.map(({ buttonId: id, buttonText }) => ({ id, label: buttonText?.displayText })),
  }),
  templateMessage: ({ hydratedTemplate, hydratedFourRowTemplate }) => {
    const template = hydratedTemplate ?? hydratedFourRowTemplate;
    const options = template?.hydratedButtons?.map(({ quickReplyButton, urlButton, callButton }) => ({
      id: quickReplyButton?.id,
      label: (quickReplyButton ?? urlButton ?? callButton)?.displayText,
    }));
    return { kind: 'menu', footer: template?.hydratedFooterText, options };
  },
  pollCreationMessage: describePoll,
  pollCreationMessageV2: describePoll,
  pollCreationMessageV3: describePoll,
  pollCreationMessageV5: describePoll,
  eventMessage: ({ location, ...event }) => ({
    ...{ kind: 'event', description: event.description, link: event.joinLink },
    ...{ starts_at: toTime(event.startTime), ends_at: toTime(event.endTime) },
    place: location && {
      ...{ name: location.name, address: location.address },
      ...{ latitude: location.degreesLatitude, longitude: location.degreesLongitude },
    },
    canceled: event.isCanceled || null,
  }),
  groupInviteMessage: (invite) => ({
    ...{ kind: 'invitation', id: invite.groupJid, code: invite.inviteCode, name: invite.groupName },
    expires_at: toTime(invite.inviteExpiration),
  }),
  newsletterAdminInviteMessage: ({ newsletterJid: id, newsletterName: name, inviteExpiration }) => ({
    ...{ kind: 'invitation', id, name, expires_at: toTime(inviteExpiration) },
  }),
  newsletterFollowerInviteMessageV2: ({ newsletterJid: id, newsletterName: name }) => ({
    ...{ kind: 'invitation', id, name },
  }),
  commentMessage: ({ targetMessageKey }) => ({ kind: 'comment', wa_message_id: targetMessageKey?.id }),
  encCommentMessage: ({ targetMessageKey }) => ({ kind: 'comment', wa_message_id: targetMessageKey?.id }),
  interactiveResponseMessage: ({ nativeFlowResponseMessage: answer }) => {
    const answers = parseJson(answer?.paramsJson);
    // An id is a click on an option.
    return answers && typeof answers['id'] !== 'string'
      ? { kind: 'form', name: answer?.name, answers }
      : null;
  },
  requestPaymentMessage: ({ amount, amount1000, currencyCodeIso4217, requestFrom, expiryTimestamp }) => ({
    kind: 'payment_request',
    amount: amount?.value ? Number(amount.value) / (amount.offset || 1) : thousandths(amount1000),
    ...{ currency: amount?.currencyCode || currencyCodeIso4217, from: requestFrom },
    expires_at: toTime(expiryTimestamp),
  }),
  locationMessage: ({ url, comment, accuracyInMeters }) => ({
    ...{ kind: 'location', url, comment, accuracy_m: count(accuracyInMeters) },
  }),
  liveLocationMessage: ({ accuracyInMeters, sequenceNumber }) => ({
    ...{ kind: 'location', accuracy_m: count(accuracyInMeters), sequence: count(sequenceNumber) },
  }),
  contactMessage: (card) => describeCards([card]),
  contactsArrayMessage: ({ contacts }) => describeCards(contacts ?? []),
  pinInChatMessage: ({ key, type }) => ({
    ...{ kind: 'pin', wa_message_id: key?.id },
    removed: type === proto.Message.PinInChatMessage.Type.UNPIN_FOR_ALL || null,
  }),
  keepInChatMessage: ({ key, keepType }) => ({
    ...{ kind: 'keep', wa_message_id: key?.id },
    removed: keepType === proto.KeepType.UNDO_KEEP_FOR_ALL || null,
  }),
  ptvMessage: () => ({ kind: 'video', round: true }),
};
const FIELDS = Object.keys(DETAILS) as (keyof proto.IMessage)[];

const describeProduct = (product: proto.Message.ProductMessage.IProductSnapshot): Facts => ({
  ...{ kind: 'product', product_id: product.productId, retailer_id: product.retailerId },
  ...{ title: product.title, description: product.description, url: product.url },
  ...{ price: thousandths(product.priceAmount1000), sale_price: thousandths(product.salePriceAmount1000) },
  ...{ currency: product.currencyCode, image_count: count(product.productImageCount) },
});

const describeCatalog = ({ title, description, productListInfo }: proto.Message.IListMessage): Facts => ({
  ...{ kind: 'catalog', title, description, seller: productListInfo?.businessOwnerJid },
  sections: productListInfo?.productSections?.map(({ title: name, products }) => ({
    title: name,
    product_ids: products?.map(({ productId }) => productId),
  })),
});

const describeList = ({ title, buttonText, footerText, sections }: proto.Message.IListMessage): Facts => ({
  ...{ kind: 'list', title, button: buttonText, footer: footerText },
  sections: sections?.map(({ title: name, rows }) => ({
    title: name,
    rows: rows?.map(({ rowId: id, title: label, description }) => ({ id, title: label, description })),
  })),
});

const describeCards = (cards: readonly proto.Message.IContactMessage[]): Facts => ({
  kind: 'contacts',
  cards: readCards(cards).map(({ name, facts }) => ({ name, ...facts })),
});

function describePoll({ options, selectableOptionsCount }: proto.Message.IPollCreationMessage): Facts {
  const selectable = count(selectableOptionsCount);
  return { kind: 'poll', options: options?.map(({ optionName }) => optionName), selectable };
}

function readButton(json: string | null | undefined): object {
  const { id, display_text: label } = parseJson(json) ?? {};
  return { ...(typeof id === 'string' && { id }), ...(typeof label === 'string' && { label }) };
}

/** Parses an object that another app wrote as JSON; null: it is none. */
function parseJson(json: string | null | undefined): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(json || 'null');
    return typeof value === 'object' && !Array.isArray(value)
      ? (value as Record<string, unknown> | null)
      : null;
  } catch {
    return null;
  }
}

/**
 * Reads the facts of a card that have no field of their own. Null: it has none. Absent facts are removed, the others limited:
 * senders choose them.
 */
export function parseDetails(message: proto.IMessage): { details: Details | null; isCut: boolean } {
  const field = FIELDS.find((one) => message[one]);
  const facts = field && (DETAILS[field] as (content: unknown) => Facts | null)(message[field]);
  const state = { left: MAX_DETAILS, isCut: false };
  const { kind, ...rest } = (limit(facts, state, 0) ?? {}) as Facts;
  const details = Object.keys(rest).length > 0 ? ({ kind, ...rest } as Details) : null;
  return { details, isCut: state.isCut };
}

interface Budget {
  /** Characters that may follow. */
  left: number;
  isCut: boolean;
}

/** Undefined for what is absent. */
function limit(value: unknown, budget: Budget, depth: number): unknown {
  if (value === null || value === undefined || value === '') return undefined;
  if (budget.left <= 0 || depth > MAX_DEPTH) {
    budget.isCut = true;
    return undefined;
  }
  if (typeof value === 'string') return limitString(value, budget);
  if (typeof value === 'object') return limitItems(value, budget, depth);
  return typeof value === 'number' && !Number.isFinite(value) ? undefined : value;
}

function limitString(value: string, budget: Budget): string {
  const text = limitText(value.toWellFormed(), budget.left);
  budget.isCut ||= text !== value;
  budget.left -= text.length;
  return text;
}

function limitItems(value: object, budget: Budget, depth: number): unknown {
  const items = Object.entries(value);
  budget.isCut ||= items.length > MAX_DETAILS_ITEMS;
  const kept = items.slice(0, MAX_DETAILS_ITEMS).flatMap(([key, one]) => {
    budget.left -= Array.isArray(value) ? 0 : key.length;
    const limited = limit(one, budget, depth + 1);
    return limited === undefined ? [] : [[key, limited] as const];
  });
  if (kept.length === 0) return undefined;
  return Array.isArray(value) ? kept.map(([, one]) => one) : Object.fromEntries(kept);
}
