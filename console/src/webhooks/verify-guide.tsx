import { Paper, Tabs, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CopyText } from '../ui/copy-text';

const GUIDES = {
  Node: `import { Webhook } from 'standardwebhooks'; // npm install standardwebhooks

const event = new Webhook(process.env.SECRET).verify(rawBody, request.headers);`,
  Python: `from standardwebhooks.webhooks import Webhook  # pip install standardwebhooks

event = Webhook(os.environ["SECRET"]).verify(raw_body, request.headers)`,
  Go: `import standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

wh, err := standardwebhooks.NewWebhook(os.Getenv("SECRET"))
err = wh.Verify(rawBody, r.Header)`,
  PHP: `// composer require standard-webhooks/standard-webhooks
$wh = new \\StandardWebhooks\\Webhook(getenv('SECRET'));
$event = $wh->verify($rawBody, getallheaders());`,
};

/** How a receiver verifies the signature, over the body as it arrived. */
export function VerifyGuide() {
  const { t } = useTranslation();
  return (
    <Paper withBorder p="lg" component="section">
      <Title order={2} size="h4">
        {t('webhooks.verify')}
      </Title>
      <Text size="sm" c="dimmed" mb="sm">
        {t('webhooks.verifyHelp')}
      </Text>
      <Tabs defaultValue="Node">
        <Tabs.List mb="sm">
          {Object.keys(GUIDES).map((name) => (
            <Tabs.Tab key={name} value={name}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {Object.entries(GUIDES).map(([name, code]) => (
          <Tabs.Panel key={name} value={name}>
            <CopyText text={code} block />
          </Tabs.Panel>
        ))}
      </Tabs>
    </Paper>
  );
}
