import { countWords, splitSentences } from './text.js';

export const MAX_AVERAGE_WORDS = 20;

/** Private words and the standard word for each; matched as whole words in prose. */
const WORDS = [
  [/\b(door)?bells?\b|\brung\b/i, 'notify, notification'],
  [/\blanes?\b/i, 'conversation queue'],
  [/\brooms?\b/i, 'headroom, capacity, connection budget'],
  [/\btrails?\b/i, 'audit log'],
  [/\bdesks?\b|\bwish(es)?\b/i, 'pairing request'],
  [/\bstory\b|\bstories\b/i, 'events'],
  [/\binternal ports?\b/i, 'internal API'],
  [/\bturnstiles?\b/i, 'concurrency limiter'],
  [/\bledgers?\b/i, 'counters'],
  [/\bstretch(es)?\b/i, 'id bucket, interval'],
  [/\bsurveys?\b/i, 'autovacuum tuning'],
  [/\bupkeep\b/i, 'maintenance task'],
  [
    /\bsigns? of life\b|\bsigns\b(?! (a|an|the|each|every|in|with|it|its|requests?|webhooks?|links?|deliver\w+)\b)/i,
    'liveness',
  ],
  [/\bdraws?\b|\bdrawn\b/i, 'render'],
  [/\blearnt\b/i, 'status update, known'],
  [/\bcompany\b|\bpatience\b/i, 'minimum batch, linger'],
  [/\bguess(es|ed)?\b/i, 'predict'],
  [/\bbelieved\b/i, 'predicted, cached'],
  [/\bdestinations?\b/i, 'endpoint'],
  [/\bhidden ids?\b/i, 'LID'],
  [/\bstand-ins?\b/i, 'fake'],
  [/\bsightings?\b/i, 'documented-answer coverage'],
  [/\btold\b|\btells?\b/i, 'reports, reported'],
  [/\bheard\b|\bhears\b/i, 'received'],
  [/\bput away\b/i, 'acknowledged'],
  [/\blet go\b/i, 'released'],
  [/\bpass(es|ed)? over\b/i, 'ignored'],
  [/\bstands? still\b/i, 'paused, stalled'],
  [/\baway\b/i, 'unavailable'],
  [/\banew\b/i, 'again'],
  [/\bwhoever\b|\bwhomever\b/i, 'name the actor'],
  [/\bhow-manieth\b/i, 'sequence number'],
  [/\b(is|are) (waited for|looked at)\b/i, 'name the actor'],
];

/** Parts of identifiers: matched after `waitRung` became `wait Rung`. */
const NAME_WORDS = new RegExp(
  String.raw`\b(` +
    'bells?|doorbells?|rung|lanes?|rooms?|trail|desks?|wish(es)?|story|stories|turnstiles?|ledgers?|stretch(es)?|' +
    'surveys?|upkeep|signs|drawn|drawing|draw|drawers?|learnt|company|patience|guess(es|ed)?|believed|' +
    'destinations?|sightings?|told|heard|bags?|posters?|anew|whoever|away' +
    String.raw`)\b`,
  'i',
);

const SUBJECT = /^["'(]?(What|Of|Whoever|Whatever|Who)\b/;
/** A comment that begins so is read twice: its subject is in another line. */
const PRONOUN = /^\W*(It|That|Also|The same|Others)\b/;
const CITATION = /\((see )?(the )?(design|spec)\b[^)]*\)/i;

/** Uses in an ordinary sense or a promised name: path, text, reason. */
const ALLOWED = [
  [/^docs\/architecture\.md$/, /\bdoorbell\b/i, 'the one sentence that explains the picture'],
  [/^core\/src\/process\/log\.ts$/, /^(DestinationStream|destination)$/, 'names of pino'],
  [/^core\/src\/proxy\/socks-tunnel\.ts$/, /^destination$/, 'name of socks'],
  [/./, /\bof (course|these|those)\b.*\?$/i, 'a question'],
];

const isAllowed = (path, text) => ALLOWED.some(([file, words]) => file.test(path) && words.test(text));

/**
 * @param {string} path
 * @param {import('./text.js').Text[]} texts
 * @returns {{ line: number, rule: string, text: string }[]}
 */
export function judgeTexts(path, texts) {
  return texts.flatMap(({ line, text, kind }) => [
    ...(kind === 'comment' && PRONOUN.test(text)
      ? [{ line, rule: 'name the subject of the comment', text }]
      : []),
    ...(CITATION.test(text) ? [{ line, rule: 'link into the repository instead', text }] : []),
    ...splitSentences(text)
      .filter((sentence) => !isAllowed(path, sentence))
      .flatMap((sentence) => judgeSentence(sentence, kind).map((rule) => ({ line, rule, text: sentence }))),
  ]);
}

function judgeSentence(sentence, kind) {
  const hidden = kind !== 'message' && SUBJECT.test(sentence) && !sentence.includes('?');
  const words = WORDS.flatMap(([word, better]) => {
    const match = word.exec(sentence);
    return match ? [`"${match[0]}": write ${better}`] : [];
  });
  return hidden ? ['name the actor first', ...words] : words;
}

/**
 * @param {string} path
 * @param {import('./text.js').Name[]} names
 */
export function judgeNames(path, names) {
  const seen = new Set();
  return names.flatMap(({ line, text }) => {
    const words = text.replaceAll(/(?<=[a-z0-9])(?=[A-Z])|_/g, ' ');
    const match = NAME_WORDS.exec(words);
    if (!match || seen.has(text) || isAllowed(path, text)) return [];
    seen.add(text);
    return [{ line, rule: `name with "${match[0]}"`, text }];
  });
}

/**
 * Average words a sentence of a page of docs: paragraphs and list items only.
 *
 * @param {import('./text.js').Text[]} texts
 */
export function averageWords(texts) {
  const counts = texts
    .filter(({ kind }) => kind === 'paragraph')
    .flatMap(({ text }) => splitSentences(text))
    .map(countWords);
  return counts.length === 0 ? 0 : counts.reduce((sum, count) => sum + count, 0) / counts.length;
}
