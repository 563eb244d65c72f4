/**
 * Secrets must be compared in constant time. `===`, `equals`, `includes` and `switch` stop at the first difference, and
 * their duration leaks how much of a value was right. The rule finds secrets by name. Comparing with a literal, undefined
 * or a length is allowed. `key` and `code` alone name entries and errors, and a nonce is public.
 */
const SECRET =
  /(token|secret|signature|password|passphrase|hmac|mac|digest|fingerprint|bearer|authorization|tag|hash|(api|access|command|file|master|private|sealing|secret|signing|encryption)_?key|pairing_?code)$/i;
/** Names of public values: hashes of files, contents and versions. */
const PUBLIC = /^(e?tag|.*(content|body|file|image|spec|template|sha256|config)(hash|digest)|hashtag)$/i;
const EQUALITY = new Set(['===', '!==', '==', '!=']);
const COMPARING = new Set([
  ...['equals', 'includes', 'has', 'indexOf', 'lastIndexOf', 'startsWith', 'endsWith', 'localeCompare'],
]);
const STATIC = new Map([
  ['Buffer', 'compare'],
  ['Object', 'is'],
]);

function findName(node) {
  switch (node.type) {
    case 'Identifier':
    case 'PrivateIdentifier':
      return node.name;
    case 'MemberExpression':
      return node.computed ? '' : findName(node.property);
    case 'CallExpression':
      return findName(node.callee);
    case 'AwaitExpression':
      return findName(node.argument);
    case 'TSNonNullExpression':
    case 'TSAsExpression':
    case 'ChainExpression':
      return findName(node.expression);
    default:
      return '';
  }
}

function isSecret(node) {
  const name = findName(node);
  return SECRET.test(name) && !PUBLIC.test(name);
}

/** Whether this side contains no secret. */
function isPlain(node) {
  return (
    node.type === 'Literal' ||
    (node.type === 'TemplateLiteral' && node.expressions.length === 0) ||
    (node.type === 'Identifier' && node.name === 'undefined') ||
    (node.type === 'UnaryExpression' && node.operator === 'typeof')
  );
}

function findOperands(node) {
  if (node.type === 'BinaryExpression') return EQUALITY.has(node.operator) ? [node.left, node.right] : [];
  if (node.type === 'SwitchCase') return node.test ? [node.parent.discriminant, node.test] : [];
  const { callee, arguments: given } = node;
  if (callee.type !== 'MemberExpression') return [];
  const method = findName(callee);
  if (COMPARING.has(method)) return [callee.object, ...given];
  return STATIC.get(findName(callee.object)) === method ? given : [];
}

export default {
  meta: {
    type: 'problem',
    docs: { description: 'compare secrets in constant time' },
    messages: {
      leaks: 'compare `{{name}}` with timingSafeEqual: this comparison stops at the first difference',
    },
    schema: [],
  },
  create(context) {
    const check = (node) => {
      const operands = findOperands(node);
      if (operands.length < 2 || operands.some(isPlain)) return;
      const secret = operands.find(isSecret);
      if (secret) context.report({ node, messageId: 'leaks', data: { name: findName(secret) } });
    };
    return { BinaryExpression: check, CallExpression: check, SwitchCase: check };
  },
};
