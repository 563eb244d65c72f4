export const health = {
  of: 'of 100',
  score: 'Health score',
  help: 'The score estimates the risk of a ban from the last days.',
  computed: 'Computed',
  warmingUp: 'This number is new. The limit of new contacts is lower; that ends',
  recommendations: 'Recommendations',
  penalty: '−{{points}} points',
  risk: { low: 'Low risk', medium: 'Medium risk', high: 'High risk' },
  status: { ok: 'good', attention: 'attention', bad: 'bad', info: 'info' },
  /** By the key of the factor. */
  factors: {
    restrictions: {
      name: 'Blocks and restrictions by WhatsApp',
      advice: 'WhatsApp restricted the number. Send nothing to new contacts for some days.',
    },
    delivery_ratio: {
      name: 'Delivery',
      advice: 'Many messages do not arrive. Check the numbers of your list before you send.',
    },
    read_ratio: {
      name: 'Reads',
      advice: 'Few messages are read. Send only to people who expect your message.',
    },
    reply_ratio: {
      name: 'Replies of new contacts',
      advice: 'New contacts hardly reply. Invite them to reply, and write to fewer new contacts.',
    },
    new_contacts: {
      name: 'New contacts in 24 hours',
      advice: 'The limit of new contacts is near. Spread first messages over more days.',
    },
    opt_out_ratio: {
      name: 'Opt-outs',
      advice: 'Many contacts ask to stop. Review the list, the frequency and the content.',
    },
    failure_ratio: {
      name: 'Failed sends',
      advice: 'Many sends fail. Read the error code of the failed messages.',
    },
    reconnections: {
      name: 'Lost connections in 24 hours',
      advice: 'The connection is lost often. Check the internet access of the phone and of the gateway.',
    },
    warm_up: {
      name: 'Age of the number',
      advice: 'The number is new. Send a little more each day during the first 14 days.',
    },
  },
  bannedAdvice: 'WhatsApp blocks the number. Wait until the block ends, or ask for a review in the app.',
  details: {
    fewCases: 'Too few cases in 7 days.',
    ratio: '{{percent}} in 7 days.',
    ofLimit: '{{percent}} of the limit.',
    connections: '{{count}} in the last 24 hours.',
    banned: 'The number is blocked.',
    restricted: 'The number is restricted now.',
    bans: '{{count}} in 30 days.',
    ended: 'A restriction ended less than 7 days ago.',
    none: 'None in 30 days.',
    warm: 'The warm-up of 14 days is over.',
    days: 'Days of warm-up left: {{count}}.',
    notPaired: 'No phone has been linked yet.',
  },
};
