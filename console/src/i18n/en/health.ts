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
};
