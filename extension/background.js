/** The click lets this extension read the page of the tab, until the tab leaves its site (`activeTab`). */
chrome.action.onClicked.addListener((tab) =>
  chrome.windows.create({ url: `window.html?tab=${tab.id}`, type: 'popup', width: 480, height: 700 }),
);
